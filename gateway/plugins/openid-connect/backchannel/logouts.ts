/**
 * The logouts that the provider has reported, as counters. All workers of a node share them; with Redis, all nodes do.
 * A session contains the values that its counters had when it began. Once the value of a counter differs, the session
 * has ended. So the clock of the provider does not matter, and a login after the logout begins a valid session.
 */
import { hash, randomInt } from "node:crypto";
import type { Counter, CounterOptions, PluginContext } from "@sluice/plugin-sdk";
import type { Claims } from "../claims.ts";
import { MAX_SESSION } from "../config/backchannel-logout.ts";
import type { OpenidConnectConfig } from "../schema.ts";

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const WEEK = 168 * HOUR;
/** Milliseconds by which the clocks of nodes may differ. */
const SKEW = 60 * SECOND;

/** Seconds by which the claim `iat` of a logout token may differ from the node's clock. */
export const MAX_AGE = 600;

/**
 * Windows begin a millisecond before a full second, unlike those of rate limits. Otherwise a node with one worker would
 * drop the counters of logouts together with those of rate limits that have the same period and start.
 */
const OFFSET = 1;

/**
 * The random value of the counter `GENERATION` is below this number, so that it fits into 32 bits, as all counters do.
 */
const MAX_GENERATION = 2 ** 31;

/** The part of a session by which a node finds out whether the provider has reported the session's logout. */
export interface LogoutMarks {
  /** The names of the session's counters, without `GENERATION`. */
  readonly names: readonly string[];
  /** The values of `GENERATION` and of these counters when the session began, in the order of `#countersSince`. */
  readonly counts: readonly number[];
}

/** The claims of a valid logout token. It has `sid`, `sub` or both. */
export interface LogoutClaims {
  readonly iss: string;
  readonly jti: string;
  /** Unix seconds. */
  readonly iat: number;
  readonly sid: string | null;
  readonly sub: string | null;
}

/** Logouts can neither be looked up nor recorded at present. The message is for the log. */
export class LogoutsUnavailable extends Error {
  override readonly name = "LogoutsUnavailable";
}

/** The name of a counter: a hash of what it counts, cut to 132 bits because session cookies contain the names. */
const nameOf = (...parts: readonly string[]): string => hash("sha256", JSON.stringify(parts), "base64url").slice(0, 22);

/**
 * A counter with a random value, which identifies the memory that contains the logouts. After a loss of that memory the
 * counter has a new value, so sessions that remember the old value end: their logouts may have been lost too.
 */
const GENERATION = nameOf("generation");

export class Logouts {
  readonly #counters: PluginContext["counters"];
  readonly #now: PluginContext["now"];
  readonly #options: CounterOptions;
  /** The scope of the counters: the same in all instances with this client, whatever Routes or Services they serve. */
  readonly #scope: string;

  constructor(
    { client_id }: OpenidConnectConfig,
    { policy, redis }: Omit<CounterOptions, "sync_rate">,
    { counters, now }: Pick<PluginContext, "counters" | "now">,
  ) {
    this.#counters = counters;
    this.#now = now;
    this.#options = { policy, redis, sync_rate: -1 };
    this.#scope = `openid-connect:${nameOf("client", client_id?.[0] ?? "")}`;
  }

  /**
   * The `LogoutMarks` of a new session. Rejects with `LogoutsUnavailable` if the counters cannot be reached.
   *
   * @param claims Of the ID token
   * @param created Unix seconds
   */
  async marksOf(claims: Claims, created: number): Promise<LogoutMarks> {
    const { iss, sub, sid } = claims;
    const subject = [String(iss), String(sub)];
    // A session without a `sid` ends at every logout that names its subject, even one that also names a `sid`.
    const own = typeof sid === "string" ? nameOf("sid", String(iss), sid) : nameOf("subject without sid", ...subject);
    const names = [own, nameOf("subject", ...subject)];
    const counters = this.#countersSince(created, names);
    const [generation = 0, ...counts] = await this.#add(counters, 0);
    if (generation > 0) return { names, counts: [generation, ...counts] };
    // If two sessions set the generation at the same time, the first one ends, and its user has to log in again.
    const [begun = 0] = await this.#add(counters.slice(0, 1), randomInt(1, MAX_GENERATION));
    return { names, counts: [begun, ...counts] };
  }

  /**
   * Whether the provider has reported a logout of the session since the session began. Rejects with
   * `LogoutsUnavailable` if the counters cannot be reached.
   *
   * @param created Unix seconds
   */
  async hasEnded({ names, counts }: LogoutMarks, created: number): Promise<boolean> {
    const values = await this.#add(this.#countersSince(created, names), 0);
    return values.some((value, index) => value !== (counts[index] ?? 0));
  }

  /**
   * Ends the sessions that a logout token names. False: the token was recorded before. Rejects with
   * `LogoutsUnavailable` if the counters cannot be reached.
   */
  async record({ iss, jti, iat, sid, sub }: LogoutClaims): Promise<boolean> {
    const names =
      sid === null
        ? [nameOf("subject", iss, sub ?? "")]
        : [nameOf("sid", iss, sid), ...(sub === null ? [] : [nameOf("subject without sid", iss, sub)])];
    const start = startOf(WEEK, this.#now());
    const counters = [
      this.#tokenCounter(nameOf("token", iss, jti), iat),
      ...names.map((name) => this.#counter(name, start)),
    ];
    const { admitted } = await this.#reached(() => this.#counters.incrementBelowLimit(counters, this.#options));
    return admitted;
  }

  /**
   * The counters of all weeks since the session began: the generation in the first week, and each name in every week.
   * The order does not change during a session; later weeks are appended.
   */
  #countersSince(created: number, names: readonly string[]): readonly Counter[] {
    const first = startOf(WEEK, created * SECOND - SKEW);
    const last = startOf(WEEK, this.#now() + SKEW);
    const counters = [this.#counter(GENERATION, first)];
    for (let start = first; start <= last; start += WEEK) {
      for (const name of names) counters.push(this.#counter(name, start));
    }
    return counters;
  }

  #counter(name: string, windowStart: number): Counter {
    return {
      // The brace ends the part of a Redis key that determines its slot in a Redis Cluster. All counters of a client
      // need the same slot, because one script and one read use several of them.
      name: `${this.#scope}}:${name}`,
      scope: this.#scope,
      period: "year",
      windowStart,
      expires: windowStart + WEEK + MAX_SESSION * SECOND + 2 * SKEW,
      limit: Number.MAX_SAFE_INTEGER,
    };
  }

  /**
   * A counter that admits a logout token once. Its window depends on the token's `iat` and not on the current time, so
   * a repeated token reaches the same counter and exceeds its limit.
   */
  #tokenCounter(name: string, iat: number): Counter {
    const windowStart = startOf(HOUR, (iat - MAX_AGE) * SECOND);
    const expires = windowStart + HOUR + 2 * MAX_AGE * SECOND + SKEW;
    return { ...this.#counter(name, windowStart), period: "hour", expires, limit: 1 };
  }

  #add(counters: readonly Counter[], amount: number): Promise<readonly number[]> {
    return this.#reached(() => this.#counters.addAmount(counters, amount, this.#options));
  }

  async #reached<Value>(use: () => Value | Promise<Value>): Promise<Value> {
    try {
      return await use();
    } catch (error) {
      throw new LogoutsUnavailable(error instanceof Error ? error.message : String(error));
    }
  }
}

/** The start of the window of this length that contains the time (Unix milliseconds). */
const startOf = (length: number, time: number): number => time - (time % length) - OFFSET;
