/** hmac-auth: requests need a signature with a consumer's secret (docs/reference/kong-compatibility.md#hmac-auth). */
import { hash } from "node:crypto";
import {
  type AuthenticationResult,
  authenticationPhase,
  challengeOf,
  definePlugin,
  type Exchange,
  type ExchangeCredentials,
  type ExchangeRequest,
  headerValuesOf,
  KeyedHash,
  type KeyedHashAlgorithm,
} from "@sluice/plugin-sdk";
import { hmacAuthFacts } from "./schema.ts";

const NOT_VALID = "HMAC signature cannot be verified";
const NOT_SAME = "HMAC signature does not match";
const NO_DATE = `${NOT_VALID}, a valid date or x-date header is required for HMAC Authentication`;

/** Maximum bytes of a body that is compared with its digest. */
const MAX_BODY = 1024 * 1024;

/** The parameters of a signature, as in the header Authorization. */
interface Signature {
  readonly username: string;
  readonly algorithm: string;
  /** The signed headers, in the order in which they are signed. */
  readonly headers: readonly string[];
  readonly bytes: Buffer;
}

/** Maximum number of signed headers. */
const MAX_NAMES = 64;
/** Maximum characters of the signed text, which could be long because a header may be named repeatedly. */
const MAX_TEXT = 64 * 1024;

const BASE64 = /^[\dA-Za-z+/]*={0,2}$/;

const PARAMETERS = /[Hh]mac\s*username="([^"]+)",\s*algorithm="([^"]+)",\s*headers="([^"]+)",\s*signature="([^"]+)"/;

function signatureOf(value: string | undefined): Signature | undefined {
  const [, username, algorithm, headers, encoded] = (value === undefined ? null : PARAMETERS.exec(value)) ?? [];
  if (username === undefined || algorithm === undefined || headers === undefined) return undefined;
  const names = headers.split(" ");
  if (names.length > MAX_NAMES || !BASE64.test(encoded ?? "")) return undefined;
  return { username, algorithm, headers: names, bytes: Buffer.from(encoded ?? "", "base64") };
}

/** The first value of the header, as Kong uses it; undefined when there is none. */
const headerOf = (request: ExchangeRequest, name: string): string | undefined => headerValuesOf(request, name)[0];

/** The text that the client signs: one line for each header. Null when it is too long. */
function signedText(request: ExchangeRequest, headers: readonly string[]): string | null {
  let text = "";
  for (const [index, name] of headers.entries()) {
    text += `${index === 0 ? "" : "\n"}${signedLine(request, name)}`;
    if (text.length > MAX_TEXT) return null;
  }
  return text;
}

function signedLine(request: ExchangeRequest, name: string): string {
  const value = headerOf(request, name);
  if (value !== undefined) return `${name}: ${value}`;
  const target = request.sentTarget;
  if (name === "@request-target") return `${name}: ${request.method.toLowerCase()} ${target}`;
  if (name !== "request-line") return `${name}:`;
  return `${request.method} ${target} HTTP/${Number(request.httpVersion).toFixed(1)}`;
}

type Credential = ExchangeCredentials["hmacauth_credentials"];

const hashAlgorithms: ReadonlyMap<string, KeyedHashAlgorithm> = new Map([
  ["hmac-sha1", "sha1"],
  ["hmac-sha256", "sha256"],
  ["hmac-sha384", "sha384"],
  ["hmac-sha512", "sha512"],
]);

/** The keyed hashes of each credential, by algorithm. A changed credential is another object. */
const keyedHashes = new WeakMap<Credential, Map<KeyedHashAlgorithm, KeyedHash>>();

const keyedHashOf = (credential: Credential, algorithm: KeyedHashAlgorithm): KeyedHash =>
  keyedHashes
    .getOrInsertComputed(credential, () => new Map())
    .getOrInsertComputed(algorithm, () => new KeyedHash(algorithm, credential.secret));

/** The forms of an HTTP date with a time zone, IMF-fixdate and RFC 850 (RFC 9110 section 5.6.7). */
const ZONED_DATE = /^[A-Z][a-z]{2,8}, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/;
/** The form of an HTTP date without a time zone, asctime, which is in UTC too. */
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/** An HTTP date in Unix milliseconds; NaN for other text. */
function timeOf(date: string | undefined): number {
  if (date === undefined) return Number.NaN;
  if (ASCTIME_DATE.test(date)) return Date.parse(`${date} GMT`);
  return ZONED_DATE.test(date) ? Date.parse(date) : Number.NaN;
}

export const hmacAuth = definePlugin({
  ...hmacAuthFacts,
  phases(config, { now }) {
    const headers = { "WWW-Authenticate": challengeOf("hmac", config.realm) };
    const refuse = (message: string): AuthenticationResult => ({ refusal: { status: 401, message, headers } });
    const algorithms: ReadonlySet<string> = new Set(config.algorithms);

    const isInTime = (request: ExchangeRequest): boolean =>
      ["x-date", "date"].some((name) => Math.abs(now() - timeOf(headerOf(request, name))) <= config.clock_skew * 1000);

    function findSignature({ request, upstreamHeaders }: Exchange): Signature | undefined {
      for (const name of ["proxy-authorization", "authorization"] as const) {
        const signature = signatureOf(request.header(name));
        const isUsed = signature !== undefined || name === "authorization";
        if (isUsed && config.hide_credentials) upstreamHeaders.remove(name);
        if (signature !== undefined) return signature;
      }
      return undefined;
    }

    function verify(exchange: Exchange): AuthenticationResult {
      const signature = findSignature(exchange);
      if (signature === undefined) return refuse(NOT_VALID);
      if (!config.enforce_headers.every((name) => signature.headers.includes(name))) return refuse(NOT_VALID);
      const algorithm = hashAlgorithms.get(signature.algorithm);
      if (algorithm === undefined || !algorithms.has(signature.algorithm)) return refuse(NOT_VALID);
      const credential = exchange.identities.credential("hmacauth_credentials", signature.username);
      if (credential === undefined) return refuse(NOT_VALID);
      const text = signedText(exchange.request, signature.headers);
      if (text === null) return refuse(NOT_VALID);
      if (!keyedHashOf(credential, algorithm).matches(text, signature.bytes)) return refuse(NOT_SAME);
      const consumer = exchange.identities.consumer(credential.consumer.id);
      if (consumer === undefined) return refuse(NOT_VALID);
      return { identity: { consumer, credential, identifier: credential.username } };
    }

    async function verifyBody({ request }: Exchange): Promise<boolean> {
      const body = await request.body(MAX_BODY);
      if (body === null) return false;
      const digest = headerOf(request, "digest");
      return digest === undefined ? body.length === 0 : digest === `SHA-256=${hash("sha256", body, "base64")}`;
    }

    const access = authenticationPhase({
      plugin: "hmac-auth",
      anonymous: config.anonymous,
      authenticate(exchange) {
        const { request } = exchange;
        const isGiven = ["authorization", "proxy-authorization"].some((name) => headerOf(request, name) !== undefined);
        if (!isGiven) return refuse("Unauthorized");
        if (!isInTime(request)) return refuse(NO_DATE);
        const result = verify(exchange);
        if (!config.validate_request_body || result.identity === undefined) return result;
        return verifyBody(exchange).then((isSame) => (isSame ? result : refuse(NOT_SAME)));
      },
    });
    return { access };
  },
});
