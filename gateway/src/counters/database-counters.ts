/**
 * Counters in the database, shared by all nodes: every call of `incrementBelowLimit` is one statement, so limits are
 * exact over all nodes. While the database does not respond, `incrementBelowLimit` rejects: by default, one call per
 * second tries the database and rejects after up to a second; the other calls reject at once.
 */
import { hash } from "node:crypto";
import type { Counter, CounterResult, Warn, WindowCounters } from "@sluice/plugin-sdk";

/** Runs one statement with parameters `$1`, `$2` and so on, and resolves to its rows. */
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
  /**
   * Milliseconds that a call of `incrementBelowLimit` waits for the database, and between attempts after a failure;
   * default 1000.
   */
  readonly patience?: number;
}

/** Milliseconds of tolerance for differing clocks of nodes. */
const SKEW = 1000;

const TAKE = "select admitted, counts::float8[] as counts from take_counters($1::uuid[], $2::float8[], $3::bigint[])";
// Rows are written in the order of their keys, so that no two statements wait for each other.
const ADD =
  "insert into counters (key, count, expires) " +
  "select key, $2::bigint, ends from unnest($1::uuid[], $3::bigint[]) as added (key, ends) order by key " +
  "on conflict (key) do update set count = counters.count + excluded.count " +
  "returning replace(key::text, '-', '') as key, count::float8 as count";
const READ =
  "select replace(key::text, '-', '') as key, count::float8 as count from counters where key = any ($1::uuid[])";
const TIDY = "delete from counters where expires < extract(epoch from clock_timestamp()) * 1000 - $1::int";

export class DatabaseCounters implements WindowCounters {
  readonly #query: DatabaseQuery;
  readonly #warn: Warn;
  readonly #tidying: number;
  readonly #patience: number;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #lost = false;
  /** The time of `performance.now()` from which the next statement may try a lost database. */
  #triedAgain = 0;

  constructor({ query, warn, tidying = 1000, patience = 1000 }: DatabaseCountersOptions) {
    this.#query = query;
    this.#warn = warn;
    this.#tidying = tidying;
    this.#patience = patience;
  }

  async incrementBelowLimit(counters: readonly Counter[]): Promise<CounterResult> {
    if (counters.some(({ amount = 1 }) => amount !== 1)) throw new Error("the database counts requests, not costs");
    const [row] = await this.#ask(TAKE, [
      counters.map(keyOf),
      counters.map(({ limit }) => limit),
      counters.map(({ expires }) => expires),
    ]);
    return { admitted: row?.admitted === true, counts: row?.counts as readonly number[] };
  }

  async addAmount(counters: readonly Counter[], amount: number): Promise<readonly number[]> {
    const keys = counters.map(keyOf);
    const rows =
      amount === 0
        ? await this.#ask(READ, [keys])
        : await this.#ask(ADD, [keys, amount, counters.map(({ expires }) => expires)]);
    const counts = new Map(rows.map(({ key, count }) => [key, Number(count)]));
    return keys.map((key) => counts.get(key) ?? 0);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  /** Runs a statement. Rejects at once if the database is lost and was tried less than `patience` milliseconds ago. */
  async #ask(...[text, values]: Parameters<DatabaseQuery>): ReturnType<DatabaseQuery> {
    if (this.#lost && performance.now() < this.#triedAgain) throw new Error("the database cannot be reached");
    // Only one statement at a time checks whether the database is back.
    this.#triedAgain = performance.now() + this.#patience;
    // The first statement starts the removal of expired counters, so that only nodes that use counters remove them.
    if (!this.#closed) this.#timer ??= setInterval(() => this.#tidy(), this.#tidying).unref();
    try {
      const rows = await this.#soon(this.#query(text, values));
      if (this.#lost) this.#warn("requests are counted for rate limits again: the database is back", {});
      this.#lost = false;
      return rows;
    } catch (error) {
      const { message: reason } = error as Error;
      if (!this.#lost)
        this.#warn("requests cannot be counted for rate limits: the database cannot be reached", { reason });
      this.#lost = true;
      throw error;
    }
  }

  #soon<Value>(asked: Promise<Value>): Promise<Value> {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`no answer within ${this.#patience} ms`)), this.#patience);
    return Promise.race([asked, promise]).finally(() => clearTimeout(timer));
  }

  #tidy(): void {
    // The next call of `incrementBelowLimit` will report that the database does not respond.
    this.#query(TIDY, [SKEW]).catch(() => undefined);
  }
}

/**
 * A counter's key: the first 128 bits of a hash, which are enough to distinguish counters, and which Postgres reads as
 * a UUID.
 */
const keyOf = ({ name, period, windowStart }: Counter): string =>
  hash("sha256", `${period} ${windowStart} ${name}`).slice(0, 32);
