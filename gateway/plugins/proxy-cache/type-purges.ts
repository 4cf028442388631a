/**
 * Purges of the results of GraphQL queries. Each type of a service has a counter of its purges, and a stored result has
 * the counts of its types from before the request was forwarded. A result with other counts is not used: so a purge
 * reaches all workers, or with Redis all nodes, without a search for results, and also those that are still on their
 * way.
 */
import {
  type Counter,
  type CounterOptions,
  type Exchange,
  PeriodWindows,
  type PluginContext,
} from "@sluice/plugin-sdk";
import type { ProxyCacheConfig } from "./schema.ts";

export class TypePurges {
  readonly #context: Pick<PluginContext, "counters" | "now">;
  readonly #options: CounterOptions;
  readonly #days = new PeriodWindows("day");

  constructor({ strategy, redis }: ProxyCacheConfig, context: Pick<PluginContext, "counters" | "now">) {
    this.#context = context;
    this.#options = { policy: strategy === "redis" ? "redis" : "local", sync_rate: -1, redis };
  }

  /**
   * A text that differs for other types, after each purge of one of the types, and after midnight (UTC), when counting
   * begins again.
   */
  stateOf(exchange: Pick<Exchange, "service">, types: readonly string[]): string | Promise<string> {
    if (types.length === 0) return "";
    const day = this.#days.at(this.#context.now()).start;
    const textOf = (counts: readonly number[]) => `${day}:${types.map((type, at) => `${type}=${counts[at]}`)}`;
    const counts = this.#context.counters.addAmount(this.#countersOf(exchange, types), 0, this.#options);
    return counts instanceof Promise ? counts.then(textOf) : textOf(counts);
  }

  purge(exchange: Pick<Exchange, "service">, types: readonly string[]): Promise<unknown> | undefined {
    const counts = this.#context.counters.addAmount(this.#countersOf(exchange, types), 1, this.#options);
    return counts instanceof Promise ? counts : undefined;
  }

  #countersOf({ service }: Pick<Exchange, "service">, types: readonly string[]): readonly Counter[] {
    const { start: windowStart, end: expires } = this.#days.at(this.#context.now());
    const scope = `graphql-purges:${service?.id ?? ""}`;
    const limit = Number.MAX_SAFE_INTEGER;
    return types.map((type) => ({ name: `${scope}:${type}`, scope, period: "day", windowStart, expires, limit }));
  }
}
