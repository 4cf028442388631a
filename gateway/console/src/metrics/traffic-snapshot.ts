/** One scrape of the admin API's /metrics: counters of requests by route, service and consumer, and the nodes' state. */
import { type MetricLine, readMetricLines } from "./metric-lines.ts";

export const trafficScopes = ["route", "service", "consumer"] as const;
export type TrafficScope = (typeof trafficScopes)[number];

export interface TrafficCounts {
  requests: number;
  /** Answered with a status of 500 or above. */
  serverErrors: number;
  /** Answered with a status from 400 to 499. */
  clientErrors: number;
  /** Answered by the gateway itself with 400 or above. */
  refused: number;
  /** Requests by upper bound of their latency in milliseconds, cumulative as in Prometheus. */
  readonly buckets: Map<number, number>;
}

export interface NodeGauges {
  memory?: number;
  /** Whether the node serves the last configuration that reached it. */
  isConfigCurrent?: boolean;
  /** The largest delay of an event loop, in seconds (99th percentile). */
  lag?: number;
}

export interface TrafficSnapshot {
  /** Milliseconds of the page's clock. */
  readonly at: number;
  readonly total: TrafficCounts;
  readonly by: Readonly<Record<TrafficScope, ReadonlyMap<string, TrafficCounts>>>;
  /** Requests that matched no route, by reason. */
  readonly unrouted: ReadonlyMap<string, number>;
  readonly nodes: ReadonlyMap<string, NodeGauges>;
  /** The addresses of nodes that did not answer the scrape. */
  readonly unscraped: readonly string[];
  /** The number of served entities by collection. */
  readonly entities: ReadonlyMap<string, number>;
  readonly missingPlugins: ReadonlySet<string>;
  /** Whether the plugin prometheus counts requests. */
  readonly hasRequests: boolean;
  readonly hasLatencies: boolean;
}

const WANTED: ReadonlySet<string> = new Set([
  "http_requests_total",
  "http_requests_unrouted_total",
  "request_latency_ms_bucket",
  "process_resident_memory_bytes",
  "nodejs_eventloop_lag_p99_seconds",
  "config_last_reload_successful",
  "node_scraped",
  "entities",
  "db_entities_total",
  "plugins_missing",
]);

const noCounts = (): TrafficCounts => ({
  requests: 0,
  serverErrors: 0,
  clientErrors: 0,
  refused: 0,
  buckets: new Map(),
});

export async function readSnapshot(body: ReadableStream<Uint8Array>, at: number): Promise<TrafficSnapshot> {
  const by = { route: new Map(), service: new Map(), consumer: new Map() } satisfies Record<
    TrafficScope,
    Map<string, TrafficCounts>
  >;
  const total = noCounts();
  const unrouted = new Map<string, number>();
  const nodes = new Map<string, NodeGauges>();
  const unscraped: string[] = [];
  const entities = new Map<string, number>();
  const missingPlugins = new Set<string>();
  const seen = new Set<string>();

  /** The counts that a series with these labels belongs to. */
  const countsOf = (labels: MetricLine["labels"]): readonly TrafficCounts[] => [
    total,
    ...trafficScopes.flatMap((scope) => {
      const name = labels[scope];
      if (name === undefined || name === "") return [];
      const counts: TrafficCounts = by[scope].get(name) ?? noCounts();
      by[scope].set(name, counts);
      return [counts];
    }),
  ];
  const gauges = (id = ""): NodeGauges => {
    const node = nodes.get(id) ?? {};
    nodes.set(id, node);
    return node;
  };

  for await (const { name, labels, value } of readMetricLines(body, WANTED)) {
    seen.add(name);
    if (name === "http_requests_total") {
      for (const counts of countsOf(labels)) addRequests(counts, labels, value);
    } else if (name === "request_latency_ms_bucket") {
      const bound = labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le);
      for (const { buckets } of countsOf(labels)) buckets.set(bound, (buckets.get(bound) ?? 0) + value);
    } else if (name === "http_requests_unrouted_total") unrouted.set(labels.reason ?? "", value);
    else if (name === "process_resident_memory_bytes") gauges(labels.node_id).memory = value;
    else if (name === "config_last_reload_successful") gauges(labels.node_id).isConfigCurrent = value === 1;
    else if (name === "nodejs_eventloop_lag_p99_seconds") {
      const node = gauges(labels.node_id);
      node.lag = Math.max(node.lag ?? 0, value);
    } else if (name === "node_scraped" && value === 0) unscraped.push(labels.node ?? "");
    else if (name === "entities" || name === "db_entities_total")
      entities.set(labels.kind ?? "", Math.max(entities.get(labels.kind ?? "") ?? 0, value));
    else if (name === "plugins_missing" && value > 0) missingPlugins.add(labels.plugin ?? "");
  }
  return {
    at,
    total,
    by,
    unrouted,
    nodes,
    unscraped,
    entities,
    missingPlugins,
    hasRequests: seen.has("http_requests_total"),
    hasLatencies: seen.has("request_latency_ms_bucket"),
  };
}

function addRequests(counts: TrafficCounts, { code = "", source }: MetricLine["labels"], value: number): void {
  const status = Number(code);
  counts.requests += value;
  if (status >= 500) counts.serverErrors += value;
  else if (status >= 400) counts.clientErrors += value;
  if (status >= 400 && source === "gateway") counts.refused += value;
}
