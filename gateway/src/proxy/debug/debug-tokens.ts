/**
 * Tokens with which clients ask for the decisions and durations of their requests (`X-Sluice-Debug`). The admin API
 * makes them (`POST /debug-tokens`); a worker knows only their hashes.
 */
import { createHash } from "node:crypto";
import type { DebugTokenGrant } from "@sluice/model";

/** The request header with the token, in lower case. */
export const DEBUG_HEADER = "x-sluice-debug";

/** Maximum number of valid tokens; a new one replaces the oldest. */
const MAX_TOKENS = 100;
/** Maximum characters of a token that is looked up. */
const MAX_LENGTH = 128;

export class DebugTokens {
  /** The time by `performance.now()` at which each token expires, keyed by the token's hash. */
  readonly #expiries = new Map<string, number>();

  /** False while there are no tokens, so that the header of a request need not be read. */
  get hasAny(): boolean {
    return this.#expiries.size > 0;
  }

  add({ hash, lifetime }: DebugTokenGrant, now = performance.now()): void {
    this.#forgetExpired(now);
    const [oldest] = this.#expiries.keys();
    if (this.#expiries.size >= MAX_TOKENS && oldest !== undefined) this.#expiries.delete(oldest);
    this.#expiries.set(hash, now + lifetime);
  }

  /** Whether the token is valid. The time that a lookup takes reveals nothing, because the hash is looked up. */
  accepts(token: string | undefined, now = performance.now()): boolean {
    if (token === undefined || token.length > MAX_LENGTH) return false;
    const expiry = this.#expiries.get(createHash("sha256").update(token).digest("hex"));
    if (expiry !== undefined && expiry > now) return true;
    this.#forgetExpired(now);
    return false;
  }

  #forgetExpired(now: number): void {
    for (const [hash, expiry] of this.#expiries) if (expiry <= now) this.#expiries.delete(hash);
  }
}
