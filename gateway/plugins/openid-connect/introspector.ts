/** Asks the provider about tokens (RFC 7662), and caches the results. */
import { hash } from "node:crypto";
import { LruCache, ownMember, type PluginContext } from "@sluice/plugin-sdk";
import type { Claims } from "./claims.ts";
import { ProviderUnavailable } from "./provider.ts";
import type { ProviderClient } from "./provider-client.ts";
import type { OpenidConnectConfig } from "./schema.ts";
import { TokenFault } from "./token-verifier.ts";

const CACHE_SIZE = 512;
/** Maximum concurrent requests to the provider; clients can invent any number of tokens. */
const MAX_PENDING = 256;
/** Maximum characters of a token; the provider is not asked about longer texts. */
const MAX_LENGTH = 16_384;

interface Known {
  readonly answer: Claims | TokenFault;
  /** When the answer expires, in milliseconds of the node's clock. */
  readonly until: number;
}

const inactive = new TokenFault("the token is not active");
const tooLong = new TokenFault("the token is too long");
const otherIssuer = new TokenFault("the token has another issuer");

export class Introspector {
  readonly #config: OpenidConnectConfig;
  readonly #client: ProviderClient;
  readonly #now: PluginContext["now"];
  /** Cached results, by SHA-256 of the token. */
  readonly #known = new LruCache<Known>(CACHE_SIZE);
  readonly #pending = new Map<string, Promise<Claims | TokenFault>>();

  constructor(config: OpenidConnectConfig, client: ProviderClient, now: PluginContext["now"]) {
    this.#config = config;
    this.#client = client;
    this.#now = now;
  }

  /**
   * The claims of an active token, or why the token is refused. Throws `ProviderUnavailable`, or rejects with it, if
   * the provider cannot be asked or does not answer validly.
   */
  introspect(token: string): Promise<Claims | TokenFault> | Claims | TokenFault {
    if (token.length > MAX_LENGTH) return tooLong;
    const id = hash("sha256", token, "base64");
    const known = this.#known.get(id);
    if (known !== undefined && this.#now() < known.until) return known.answer;
    const before = this.#pending.get(id);
    if (before !== undefined) return before;
    if (this.#pending.size >= MAX_PENDING) throw new ProviderUnavailable("too many introspections are under way");
    const asked = this.#request(id, token).finally(() => this.#pending.delete(id));
    this.#pending.set(id, asked);
    return asked;
  }

  async #request(id: string, token: string): Promise<Claims | TokenFault> {
    const claims = await this.#client.introspect(token);
    const answer = claims === null ? inactive : (this.#fault(claims) ?? claims);
    const until = this.#now() + 1000 * this.#lifetime(claims);
    if (until > this.#now()) this.#known.set(id, { answer, until });
    return answer;
  }

  /** Why the claims of an active token are refused; null: they are accepted. iss, exp and nbf may be missing. */
  #fault(claims: Claims): TokenFault | null {
    const { issuers_allowed: allowed, leeway } = this.#config;
    const now = this.#now() / 1000;
    const issuer = ownMember(claims, "iss");
    if (issuer !== undefined && allowed?.length && !allowed.some((each) => each === issuer)) return otherIssuer;
    const [exp, nbf] = [ownMember(claims, "exp"), ownMember(claims, "nbf")];
    if (typeof exp === "number" && exp + leeway <= now) return inactive;
    return typeof nbf === "number" && nbf - leeway > now ? inactive : null;
  }

  /**
   * Seconds for which the result for these claims may be used again.
   *
   * @param claims Null: the token is not active
   */
  #lifetime(claims: Claims | null): number {
    const { cache_introspection, cache_ttl, cache_ttl_max, cache_ttl_neg, leeway } = this.#config;
    if (!cache_introspection) return 0;
    if (claims === null) return cache_ttl_neg ?? 0;
    const exp = ownMember(claims, "exp");
    const lifetime = typeof exp === "number" ? exp + leeway - this.#now() / 1000 : cache_ttl;
    return Math.min(lifetime, cache_ttl_max ?? Number.POSITIVE_INFINITY);
  }
}
