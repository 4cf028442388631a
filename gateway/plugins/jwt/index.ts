/** jwt: requests need a token that a consumer's key verifies (docs/reference/kong-compatibility.md#jwt). */
import {
  type AuthenticationResult,
  authenticationPhase,
  challengeOf,
  type DirectResponse,
  definePlugin,
  type Exchange,
  type ExchangeCredentials,
  type ExchangeRequest,
  headerValuesOf,
  hmacVerifier,
  LruCache,
  ownMember,
  pairValues,
  publicKeyVerifier,
  readToken,
  type TokenVerifier,
} from "@sluice/plugin-sdk";
import { type JwtConfig, jwtFacts } from "./schema.ts";

type Credential = ExchangeCredentials["jwt_secrets"];

/** A token whose signature has been verified. */
interface Verified {
  /** The claims that are times. */
  readonly times: { readonly exp: unknown; readonly nbf: unknown };
  /** The value of the claim `claim`, by which the credential was found. */
  readonly key: string;
  readonly credential: Credential;
  /** `key_claim_name` in the config by which the token was verified. */
  readonly claim: string;
  /** `secret_is_base64` in the same config. */
  readonly isBase64: boolean;
}

/**
 * Verified tokens by their text, for all instances of jwt. Clients repeat tokens, and verifying costs more than a
 * lookup.
 */
const verified = new LruCache<Verified>(2048);

/** Maximum characters of a token that is cached. Longer ones are verified for each request, to limit the memory. */
const MAX_CACHED = 4096;

export const jwt = definePlugin({
  ...jwtFacts,
  phases(config, { now }) {
    const { key_claim_name: claim, secret_is_base64: isBase64 } = config;
    const challenge = challengeOf("Bearer", config.realm);
    const withError = { "WWW-Authenticate": `${challenge} error="invalid_token"` };
    const absent: DirectResponse = {
      status: 401,
      message: "Unauthorized",
      headers: { "WWW-Authenticate": challenge },
    };
    const refuse = (message: string): AuthenticationResult => ({
      refusal: { status: 401, message, headers: withError },
    });

    /** The verifiers of credentials; null: the credential has no usable key. */
    const verifiers = new WeakMap<Credential, TokenVerifier | null>();

    function verifierOf({ algorithm, secret, rsa_public_key }: Credential): TokenVerifier | null {
      if (!algorithm.startsWith("HS"))
        return rsa_public_key === null ? null : publicKeyVerifier(algorithm, rsa_public_key);
      const key = isBase64 ? decodeBase64(secret ?? "") : Buffer.from(secret ?? "");
      return key === null || key.length === 0 ? null : hmacVerifier(algorithm, key);
    }

    /** The verified token, or the reason for refusing it. */
    function verifyToken(exchange: Exchange, text: string): Verified | string {
      const before = verified.get(text);
      if (before?.claim === claim && before.isBase64 === isBase64) {
        // A changed credential is another object, and whether a credential is valid depends on the route.
        if (exchange.identities.credential("jwt_secrets", before.key) === before.credential) return before;
      }
      const token = readToken(text);
      if (typeof token === "string") return `Bad token; ${token}`;
      const key = ownMember(token.claims, claim) ?? ownMember(token.header, claim);
      if (key === undefined) return `No mandatory '${claim}' in claims`;
      if (typeof key !== "string" || key === "") return `Invalid '${claim}' in claims`;
      const credential = exchange.identities.credential("jwt_secrets", key);
      if (credential === undefined) return `No credentials found for given '${claim}'`;
      if (token.header.alg !== credential.algorithm) return "Invalid algorithm";
      const verify = verifiers.getOrInsertComputed(credential, verifierOf);
      if (verify === null) return "Invalid key/secret";
      if (!verify(token)) return "Invalid signature";
      const times = { exp: ownMember(token.claims, "exp"), nbf: ownMember(token.claims, "nbf") };
      const result = { times, key, credential, claim, isBase64 };
      // The cache's key is a copy, because the text may be a slice of a longer string, which would stay in memory too.
      if (text.length <= MAX_CACHED) verified.set(Buffer.from(text, "latin1").toString("latin1"), result);
      return result;
    }

    const access = authenticationPhase({
      plugin: "jwt",
      anonymous: config.anonymous,
      runOnPreflight: config.run_on_preflight,
      authenticate(exchange) {
        const tokens = findTokens(exchange, config);
        const [text] = tokens;
        if (text === undefined) return { refusal: absent };
        if (tokens.length > 1) return refuse("Multiple tokens provided");
        const result = verifyToken(exchange, text);
        if (typeof result === "string") return refuse(result);
        const { times, key, credential } = result;
        const faults = claimFaults(times, config, Math.floor(now() / 1000));
        if (faults !== null) return { refusal: { status: 401, json: faults, headers: withError } };
        const consumer = exchange.identities.consumer(credential.consumer.id);
        if (consumer === undefined) return refuse(`Could not find consumer for '${claim}=${key}'`);
        exchange.shared.set("authenticated_jwt_token", text);
        return { identity: { consumer, credential, identifier: key } };
      },
    });
    return { access };
  },
});

/** The bytes of Base64 text with either alphabet (RFC 4648); null for other text. */
const decodeBase64 = (text: string): Buffer | null =>
  /^[\w+/-]*={0,2}$/.test(text) ? Buffer.from(text, "base64") : null;

/**
 * Kong's message for each invalid claim, by the name of the claim; null: all claims are valid.
 *
 * @param now Unix seconds
 */
function claimFaults(
  times: Verified["times"],
  { claims_to_verify, maximum_expiration }: JwtConfig,
  now: number,
): Readonly<Record<string, string>> | null {
  const faults: Record<string, string> = {};
  for (const name of claims_to_verify ?? []) {
    const time = times[name];
    if (typeof time !== "number") faults[name] = "must be a number";
    else if (name === "exp" && time <= now) faults.exp = "token expired";
    else if (name === "nbf" && time > now) faults.nbf = "token not valid yet";
  }
  if (Object.keys(faults).length > 0) return faults;
  if (maximum_expiration <= 0) return null;
  const { exp } = times;
  return typeof exp === "number" && exp - now <= maximum_expiration
    ? null
    : { exp: "exceeds maximum allowed expiration" };
}

/** The distinct tokens in the configured query parameters, cookies and headers. */
function findTokens({ request }: Exchange, config: JwtConfig): readonly string[] {
  const tokens: string[] = [];
  const add = (token: string) => {
    if (token !== "" && !tokens.includes(token)) tokens.push(token);
  };
  const query = request.query.slice(1);
  if (query !== "") for (const name of config.uri_param_names) for (const token of pairValues(query, name)) add(token);
  for (const name of config.cookie_names) add(cookieOf(request, name));
  for (const name of config.header_names) add(bearerTokenOf(headerValuesOf(request, name)[0]));
  return tokens;
}

const BEARER = "Bearer ";
const SPACE = " ".charCodeAt(0);

/** The token in the value of a header, in any of the forms that Kong accepts; empty: there is none. */
function bearerTokenOf(value = ""): string {
  // The usual form needs no regular expression.
  const first = value.charCodeAt(BEARER.length);
  if (value.startsWith(BEARER) && first > SPACE && first < 0x7f) return value.slice(BEARER.length);
  return /[Bb]earer\s+(.+)/.exec(value)?.[1] ?? "";
}

function cookieOf(request: ExchangeRequest, name: string): string {
  for (const pair of request.header("cookie")?.split(";") ?? []) {
    const [key = "", ...value] = pair.split("=");
    if (key.trim().toLowerCase() === name.toLowerCase()) return value.join("=").trim();
  }
  return "";
}
