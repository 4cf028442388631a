/** A counter of an explanation: its value, and the requests that share it. */
import type { ExplainedCounter, Snapshot, SnapshotPlugin } from "@sluice/model";
import { countedByText, type LimitByConfig } from "@sluice/plugin-sdk";
import type { ReadCounter } from "./read-only-services.ts";

export interface CounterReading {
  /** The id of the plugin. */
  readonly plugin: string;
  readonly counter: ReadCounter;
  readonly count: number;
}

export const explainedCounter = (snapshot: Snapshot, { plugin, counter, count }: CounterReading): ExplainedCounter => ({
  plugin,
  period: counter.period,
  limit: counter.limit,
  count,
  counted_by: countedBy(counter, snapshot.plugins.get(plugin), snapshot),
  per_node: counter.policy === "local",
});

const missing: Readonly<Record<LimitByConfig["limit_by"], (config: LimitByConfig) => string>> = {
  consumer: () => "the request has no consumer",
  credential: () => "the request has no credential",
  ip: () => "",
  service: () => "the route has no service",
  header: ({ header_name }) => `the request has no header ${header_name}`,
  path: ({ path }) => `the request is not to the path ${path}`,
  operation: () => "the request has no GraphQL operation that the plugin graphql has read",
};

/** Null: the plugin does not count by a property of requests. */
function countedBy(
  { name, scope }: ReadCounter,
  plugin: SnapshotPlugin | undefined,
  { consumers }: Snapshot,
): string | null {
  const config = Object(plugin?.config) as Partial<LimitByConfig>;
  if (!isLimitByConfig(config)) return null;
  // See counterNames of the SDK.
  const [property, ...rest] = name.slice(scope.length + 1).split("=");
  const identifier = rest.join("=");
  if (property === "ip") {
    const why = missing[config.limit_by](config);
    return `counted by client address ${identifier}${why === "" ? "" : `, because ${why}`}`;
  }
  if (property === "consumer") return `counted by consumer ${consumers.get(identifier)?.username ?? identifier}`;
  if (property === "service" && plugin?.route) return "counted by service: all callers of the plugin's route share it";
  return countedByText(config);
}

const isLimitByConfig = (config: Partial<LimitByConfig>): config is LimitByConfig =>
  config.limit_by !== undefined && config.limit_by in missing;
