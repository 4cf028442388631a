/**
 * Purges of the results of GraphQL queries. Each name of a service, such as a type, has a counter of its purges, and a
 * stored result has the counts of its names from before the request was forwarded. A result with other counts is not
 * used: so a purge reaches all workers, or with Redis all nodes, without a search for results, and also those that are
 * still on their way.
 */
import {
  type Counter,
  type CounterOptions,
  type Exchange,
  PeriodWindows,
  type PluginContext,
} from "@sluice/plugin-sdk";
import type { ProxyCacheConfig } from "./schema.ts";

type Names = readonly string[];

export class PurgeCounts {
  readonly #context: Pick<PluginContext, "counters" | "now">;
  readonly #options: CounterOptions;
  readonly #days = new PeriodWindows("day");

  constructor({ strategy, redis }: ProxyCacheConfig, context: Pick<PluginContext, "counters" | "now">) {
    this.#context = context;
    this.#options = { policy: strategy === "redis" ? "redis" : "local", sync_rate: -1, redis };
  }

  /**
   * A text that differs for other names, after each purge of one of the names, and after midnight (UTC), when counting
   * begins again.
   */
  stateOf(exchange: Pick<Exchange, "service">, names: Names): string | Promise<string> {
    if (names.length === 0) return "";
    const day = this.#day;
    const counts = this.#read(exchange, names);
    return counts instanceof Promise ? counts.then((known) => textOf(day, names, known)) : textOf(day, names, counts);
  }

  /** The texts for several lists of names, of the same moment. */
  async statesOf(exchange: Pick<Exchange, "service">, lists: readonly Names[]): Promise<readonly string[]> {
    const day = this.#day;
    const counts = await this.#read(exchange, lists.flat());
    let start = 0;
    return lists.map((names) => {
      const own = counts.slice(start, start + names.length);
      start += names.length;
      return names.length === 0 ? "" : textOf(day, names, own);
    });
  }

  /** Counts a purge of each of the names. */
  add(exchange: Pick<Exchange, "service">, names: Names): Promise<unknown> | undefined {
    const counts = this.#context.counters.addAmount(this.#countersOf(exchange, names), 1, this.#options);
    return counts instanceof Promise ? counts : undefined;
  }

  get #day(): number {
    return this.#days.at(this.#context.now()).start;
  }

  #read(exchange: Pick<Exchange, "service">, names: Names) {
    return this.#context.counters.addAmount(this.#countersOf(exchange, names), 0, this.#options);
  }

  #countersOf({ service }: Pick<Exchange, "service">, names: Names): readonly Counter[] {
    const { start: windowStart, end: expires } = this.#days.at(this.#context.now());
    const scope = `graphql-purges:${service?.id ?? ""}`;
    const limit = Number.MAX_SAFE_INTEGER;
    // The brace ends the part of a Redis key that determines its slot in a Redis Cluster. All counters of a service need
    // the same slot, because one script and one read use several of them.
    return names.map((name) => ({ name: `${scope}}:${name}`, scope, period: "day", windowStart, expires, limit }));
  }
}

const textOf = (day: number, names: Names, counts: readonly number[]): string =>
  `${day}:${names.map((name, at) => `${name}=${counts[at]}`)}`;
