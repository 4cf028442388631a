/** Counters in the database, shared by all nodes: every take is one statement there, exact over all nodes. */
import { hash } from "node:crypto";
import type { Counter, Counters, Taken } from "./counters.ts";

/** Runs one statement with `$1` parameters. */
export type Query = (text: string, values: readonly unknown[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;

export interface DatabaseCountersOptions {
  readonly query: Query;
  /** Milliseconds between removals of what is over; default 1000. */
  readonly tidying?: number;
}

/** Milliseconds for clocks of nodes that differ. */
const SKEW = 1000;

export class DatabaseCounters implements Counters {
  readonly #query: Query;
  readonly #tidying: number;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor({ query, tidying = 1000 }: DatabaseCountersOptions) {
    this.#query = query;
    this.#tidying = tidying;
  }

  async take(counters: readonly Counter[]): Promise<Taken> {
    // Whoever counts tidies up.
    if (!this.#closed) this.#timer ??= setInterval(() => this.#tidy(), this.#tidying).unref();
    const [row] = await this.#query(
      "select admitted, counts::float8[] as counts from take_counters($1::uuid[], $2::float8[], $3::bigint[])",
      [counters.map(keyOf), counters.map(({ limit }) => limit), counters.map(({ expires }) => expires)],
    );
    return { admitted: row?.admitted === true, counts: row?.counts as readonly number[] };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  #tidy(): void {
    const over = "delete from counters where expires < extract(epoch from clock_timestamp()) * 1000 - $1::int";
    // The next one to take is told that the database does not answer.
    this.#query(over, [SKEW]).catch(() => undefined);
  }
}

/** As a UUID: its 128 bits are enough to tell counters apart. */
const keyOf = ({ name, period, windowStart }: Counter): string =>
  hash("sha256", `${period} ${windowStart} ${name}`).slice(0, 32);
