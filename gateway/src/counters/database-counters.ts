/**
 * Counters in the database, shared by all nodes: every take is one statement, so limits are exact over all nodes. While
 * the database does not respond, takes reject: by default, one take per second tries the database and rejects after up
 * to a second; the others reject at once.
 */
import { hash } from "node:crypto";
import type { Counter, Counters, Taken, Warn } from "@sluice/plugin-sdk";

/** Runs one statement with `$1` parameters. */
export type DatabaseQuery = (
  text: string,
  values: readonly unknown[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>;

export interface DatabaseCountersOptions {
  readonly query: DatabaseQuery;
  /** Called when the database is lost and when it is back. */
  readonly warn: Warn;
  /** Milliseconds between removals of expired counters; default 1000. */
  readonly tidying?: number;
  /** Milliseconds that a take waits for the database, and between attempts after a failure; default 1000. */
  readonly patience?: number;
}

/** Milliseconds of tolerance for differing clocks of nodes. */
const SKEW = 1000;

const TAKE = "select admitted, counts::float8[] as counts from take_counters($1::uuid[], $2::float8[], $3::bigint[])";
const TIDY = "delete from counters where expires < extract(epoch from clock_timestamp()) * 1000 - $1::int";

export class DatabaseCounters implements Counters {
  readonly #query: DatabaseQuery;
  readonly #warn: Warn;
  readonly #tidying: number;
  readonly #patience: number;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #lost = false;
  /** While the database is lost: when the next take may try it, in the time of performance.now(). */
  #triedAgain = 0;

  constructor({ query, warn, tidying = 1000, patience = 1000 }: DatabaseCountersOptions) {
    this.#query = query;
    this.#warn = warn;
    this.#tidying = tidying;
    this.#patience = patience;
  }

  async take(counters: readonly Counter[]): Promise<Taken> {
    if (this.#lost && performance.now() < this.#triedAgain) throw new Error("the database cannot be reached");
    // Only one take at a time checks whether the database is back.
    this.#triedAgain = performance.now() + this.#patience;
    // A node that counts also removes expired counters.
    if (!this.#closed) this.#timer ??= setInterval(() => this.#tidy(), this.#tidying).unref();
    try {
      const [row] = await this.#soon(
        this.#query(TAKE, [
          counters.map(keyOf),
          counters.map(({ limit }) => limit),
          counters.map(({ expires }) => expires),
        ]),
      );
      if (this.#lost) this.#warn("requests are counted for rate limits again: the database is back", {});
      this.#lost = false;
      return { admitted: row?.admitted === true, counts: row?.counts as readonly number[] };
    } catch (error) {
      const { message: reason } = error as Error;
      if (!this.#lost)
        this.#warn("requests cannot be counted for rate limits: the database cannot be reached", { reason });
      this.#lost = true;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  #soon<Value>(asked: Promise<Value>): Promise<Value> {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`no answer within ${this.#patience} ms`)), this.#patience);
    return Promise.race([asked, promise]).finally(() => clearTimeout(timer));
  }

  #tidy(): void {
    // The next take will report that the database does not respond.
    this.#query(TIDY, [SKEW]).catch(() => undefined);
  }
}

/** As a UUID: 128 bits of the hash are enough to distinguish counters. */
const keyOf = ({ name, period, windowStart }: Counter): string =>
  hash("sha256", `${period} ${windowStart} ${name}`).slice(0, 32);
