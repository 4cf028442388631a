/** Reads and verifies JSON Web Tokens in the compact form (RFC 7515 section 7.1, RFC 7518, RFC 8037). */
import { constants, createPublicKey, type JsonWebKeyInput, type KeyObject, verify } from "node:crypto";
import { LruCache } from "../tools/lru-cache.ts";
import { KeyedHash, type KeyedHashAlgorithm } from "./keyed-hash.ts";

export interface JsonWebToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The signed text. */
  readonly signed: string;
  readonly signature: Buffer;
}

/** The curve of the key that an algorithm needs, as Node names it. */
const curves: Readonly<Record<string, string>> = { ES256: "prime256v1", ES384: "secp384r1", ES512: "secp521r1" };

const ALGORITHM = /^(?:(?:HS|RS|ES|PS)(?:256|384|512)|EdDSA)$/;

/** Maximum characters of a token; a longer one is refused before it is decoded. */
export const MAX_TOKEN = 16_384;

/**
 * The token, or a message about an invalid token, in Kong's words if Kong has the message. Unlike in Kong, a token with
 * the header `crit` is refused: none of the extensions that `crit` may list is supported (RFC 7515 section 4.1.11).
 */
export function readToken(text: string): JsonWebToken | string {
  if (text.length > MAX_TOKEN) return "invalid JSON";
  const first = text.indexOf(".");
  const second = first < 0 ? -1 : text.indexOf(".", first + 1);
  const end = second < 0 ? text.length : second;
  const header = headerOf(first < 0 ? text : text.slice(0, first));
  const claims = first < 0 ? undefined : recordOf(text.slice(first + 1, end));
  if (header === undefined || claims === undefined) return "invalid JSON";
  if (typeof header.alg !== "string" || !ALGORITHM.test(header.alg)) return "invalid alg";
  if (Object.hasOwn(header, "crit")) return "critical headers are not supported";
  if (second < 0) return "invalid JSON";
  const signature64 = text.slice(second + 1);
  if (!BASE64URL.test(signature64)) return "invalid signature";
  return { header, claims, signed: text.slice(0, second), signature: Buffer.from(signature64, "base64url") };
}

const BASE64URL = /^[\w-]*={0,2}$/;

/** Decoded headers by their text: the tokens of an issuer have the same header until its key changes. */
const headers = new LruCache<JsonWebToken["header"]>(128);
/** Maximum characters of a header that is cached, to limit the memory. */
const MAX_CACHED_HEADER = 256;

function headerOf(text: string): JsonWebToken["header"] | undefined {
  if (text.length > MAX_CACHED_HEADER) return recordOf(text);
  const known = headers.get(text);
  if (known !== undefined) return known;
  const header = recordOf(text);
  // The cache's key is a copy, because the text is a slice of the token, which would stay in memory too.
  if (header !== undefined) headers.set(Buffer.from(text, "latin1").toString("latin1"), header);
  return header;
}

/** Shared, because tokens are decoded one at a time. */
const decoded = Buffer.allocUnsafeSlow(MAX_TOKEN);

/** The JSON object in Base64url text; undefined for other text. */
function recordOf(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!BASE64URL.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(decoded.toString("utf8", 0, decoded.write(text, "base64url")));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The value of an own member; undefined for null, and for inherited properties such as `constructor`. */
export const ownMember = (members: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(members, name) ? (members[name] ?? undefined) : undefined;

/** Verifies signatures of one algorithm with one key. */
export type TokenVerifier = (token: JsonWebToken) => boolean;

/** A verifier for HS256, HS384 and HS512. */
export function hmacVerifier(algorithm: string, secret: Buffer): TokenVerifier {
  const keyed = new KeyedHash(`sha${algorithm.slice(2)}` as KeyedHashAlgorithm, secret);
  return ({ signed, signature }) => keyed.matches(signed, signature);
}

/**
 * A verifier for the other algorithms. Null: the key cannot be read, or does not suit the algorithm.
 *
 * @param publicKey A key in PEM, or a JSON Web Key (RFC 7517).
 */
export function publicKeyVerifier(algorithm: string, publicKey: string | JsonWebKeyInput["key"]): TokenVerifier | null {
  let key: KeyObject;
  try {
    key = createPublicKey(typeof publicKey === "string" ? publicKey : { key: publicKey, format: "jwk" });
  } catch {
    return null;
  }
  const type = key.asymmetricKeyType ?? "";
  if (algorithm === "EdDSA") {
    return type === "ed25519" || type === "ed448"
      ? ({ signed, signature }) => isSigned(null, key, signed, signature)
      : null;
  }
  const digest = `sha${algorithm.slice(2)}`;
  if (algorithm.startsWith("ES")) {
    if (type !== "ec" || key.asymmetricKeyDetails?.namedCurve !== curves[algorithm]) return null;
    const options = { key, dsaEncoding: "ieee-p1363" } as const;
    return ({ signed, signature }) => isSigned(digest, options, signed, signature);
  }
  if (type !== "rsa" && !(type === "rsa-pss" && algorithm.startsWith("PS"))) return null;
  if (algorithm.startsWith("RS")) return ({ signed, signature }) => isSigned(digest, key, signed, signature);
  // An RSA-PSS key may be restricted to one digest (RFC 4055 section 3.1); OpenSSL would throw for any other digest.
  if ((key.asymmetricKeyDetails?.hashAlgorithm ?? digest) !== digest) return null;
  const options = {
    key,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_AUTO,
  };
  return ({ signed, signature }) => isSigned(digest, options, signed, signature);
}

const isSigned = (
  digest: string | null,
  key: Parameters<typeof verify>[2],
  signed: string,
  signature: Buffer,
): boolean => verify(digest, Buffer.from(signed, "latin1"), key, signature);
