/** Verifies the provider's JSON Web Tokens (RFC 7519, RFC 8725): access tokens, ID tokens and logout tokens. */
import { hash } from "node:crypto";
import {
  hmacVerifier,
  type JsonWebToken,
  LruCache,
  ownMember,
  type PluginContext,
  readToken,
} from "@sluice/plugin-sdk";
import type { Claims } from "./claims.ts";
import type { VerificationKey } from "./key-set.ts";
import type { Provider, ProviderState } from "./provider.ts";
import type { OpenidConnectConfig } from "./schema.ts";

/** A token whose signature and issuer are valid. */
export interface VerifiedToken {
  readonly claims: Claims;
  /** Null: it is signed with the client's secret. */
  readonly key: VerificationKey | null;
}

/** Why a token is refused. The text contains nothing of the token except its algorithm. */
export class TokenFault {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/**
 * The accepted types of access tokens and ID tokens (RFC 8725 section 3.11, RFC 9068 section 2.1), so that a logout
 * token or another statement of the provider is not accepted as an access token. Undefined: the token has no type.
 */
const tokenTypes: ReadonlySet<unknown> = new Set([undefined, "jwt", "at+jwt", "application/at+jwt"]);

/**
 * The accepted types of logout tokens. Many providers send the type JWT (OpenID Connect Back-Channel Logout 1.0 section
 * 2.4).
 */
const logoutTypes: ReadonlySet<unknown> = new Set([undefined, "jwt", "logout+jwt", "application/logout+jwt"]);

const CACHE_SIZE = 512;

/** Whether the text has the form of a signed token; all other tokens are opaque to the gateway. */
export const isJsonWebToken = (text: string): boolean => /^[\w-]+={0,2}\.[\w-]+={0,2}\.[\w-]*={0,2}$/.test(text);

export class ProviderTokenVerifier {
  readonly #config: OpenidConnectConfig;
  readonly #provider: Provider;
  readonly #now: PluginContext["now"];
  /** Verified tokens, by SHA-256 of their text. Clients repeat tokens, and verifying costs more than a hash. */
  readonly #verified = new LruCache<VerifiedToken>(CACHE_SIZE);

  constructor(config: OpenidConnectConfig, provider: Provider, now: PluginContext["now"]) {
    this.#config = config;
    this.#provider = provider;
    this.#now = now;
  }

  /** Verifies an access token or ID token. Rejects with `ProviderUnavailable` if there are no keys. */
  verify(text: string): VerifiedToken | TokenFault | Promise<VerifiedToken | TokenFault> {
    const state = this.#provider.get();
    return state instanceof Promise
      ? state.then((known) => this.#verifyWith(known, text))
      : this.#verifyWith(state, text);
  }

  /**
   * A token that may be a logout token, or why it is not one. Its type, signature and issuer are valid, and nothing
   * else was checked. Rejects with `ProviderUnavailable` if there are no keys.
   */
  async verifyLogoutToken(text: string): Promise<VerifiedToken | TokenFault> {
    const state = await this.#provider.get();
    const token = tokenOf(text);
    if (token instanceof TokenFault) return token;
    if (!logoutTypes.has(typeOf(token))) {
      return new TokenFault("the token is not a logout token: its header typ names another type");
    }
    return this.#signed(state, token);
  }

  #verifyWith(state: ProviderState, text: string): VerifiedToken | TokenFault | Promise<VerifiedToken | TokenFault> {
    const id = hash("sha256", text, "base64");
    const before = this.#verified.get(id);
    if (before !== undefined && (before.key === null || state.keys.has(before.key))) {
      return this.#timeFault(before.claims) ?? before;
    }
    const token = tokenOf(text);
    if (token instanceof TokenFault) return token;
    const fault = accessTokenFault(token);
    if (fault !== null) return fault;
    const accept = (result: VerifiedToken | TokenFault) => {
      if (result instanceof TokenFault) return result;
      const timeFault = this.#timeFault(result.claims);
      if (timeFault === null) this.#verified.set(id, result);
      return timeFault ?? result;
    };
    const signed = this.#signed(state, token);
    return signed instanceof Promise ? signed.then(accept) : accept(signed);
  }

  /** Checks the signature and the issuer. */
  #signed(state: ProviderState, token: JsonWebToken): VerifiedToken | TokenFault | Promise<VerifiedToken | TokenFault> {
    const accept = (current: ProviderState, key: VerificationKey | null) =>
      this.#issuerFault(token.claims, current) ?? { claims: token.claims, key };
    if (isSymmetric(token)) return this.#secretFault(token) ?? accept(state, null);
    const key = signerOf(state, token);
    if (key !== undefined) return accept(state, key);
    // A token that names a known key has a wrong signature. Any other token may be signed with a new key, so the
    // provider's keys are requested again.
    if (token.header.kid !== undefined && state.keys.candidates(token).length > 0) return wrongSignature;
    return this.#provider.refreshed().then((refreshed) => {
      const newKey = signerOf(refreshed, token);
      return newKey === undefined ? noKey : accept(refreshed, newKey);
    });
  }

  /** Why the token is not validly signed with the client's secret; null: it is. */
  #secretFault(token: JsonWebToken): TokenFault | null {
    const { enable_hs_signatures, client_secret } = this.#config;
    const [secret] = client_secret ?? [];
    if (!enable_hs_signatures || secret === undefined) return wrongSignature;
    const algorithm = String(token.header.alg);
    const key = Buffer.from(secret);
    // RFC 7518 section 3.2: the key has at least the size of the hash.
    if (key.length < Number(algorithm.slice(2)) / 8) {
      return new TokenFault(`the client's secret is too short for ${algorithm}`);
    }
    return hmacVerifier(algorithm, key)(token) ? null : wrongSignature;
  }

  #issuerFault(claims: Claims, { metadata }: ProviderState): TokenFault | null {
    const { issuers_allowed: allowed } = this.#config;
    const issuer = ownMember(claims, "iss");
    const isRight = allowed?.length ? allowed.some((each) => each === issuer) : issuer === metadata.issuer;
    return isRight ? null : new TokenFault("the token has another issuer");
  }

  #timeFault(claims: Claims): TokenFault | null {
    const now = this.#now() / 1000;
    const { leeway } = this.#config;
    const exp = ownMember(claims, "exp");
    if (typeof exp !== "number") return new TokenFault("the token has no expiry");
    if (exp + leeway <= now) return new TokenFault("the token has expired");
    const nbf = ownMember(claims, "nbf");
    if (nbf === undefined || (typeof nbf === "number" && nbf - leeway <= now)) return null;
    return new TokenFault("the token is not valid yet");
  }
}

const wrongSignature = new TokenFault("the signature of the token is wrong");
const noKey = new TokenFault("the provider has no key for the token");

function tokenOf(text: string): JsonWebToken | TokenFault {
  const token = readToken(text);
  return typeof token === "string" ? new TokenFault(`the token cannot be read: ${token}`) : token;
}

/** The header `typ`, in lower case if it is a string. */
const typeOf = ({ header: { typ } }: JsonWebToken): unknown => (typeof typ === "string" ? typ.toLowerCase() : typ);

function accessTokenFault(token: JsonWebToken): TokenFault | null {
  // A token with the claim `events` (RFC 8417) is not an access token, even if the provider sends it with the type JWT.
  if (ownMember(token.claims, "events") !== undefined) {
    return new TokenFault("the token is not an access token: it is about an event");
  }
  return tokenTypes.has(typeOf(token))
    ? null
    : new TokenFault("the token is not an access token: its header typ names another type");
}

const isSymmetric = ({ header }: JsonWebToken): boolean => String(header.alg).startsWith("HS");

const signerOf = ({ keys }: ProviderState, token: JsonWebToken): VerificationKey | undefined =>
  keys.candidates(token).find((key) => key.verifier(String(token.header.alg))?.(token) === true);
