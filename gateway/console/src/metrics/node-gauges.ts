/** The state of the nodes, from the admin API's /metrics. */
import { readMetricLines } from "./metric-lines.ts";

export interface NodeGauges {
  memory?: number;
  /** Whether the node serves the last configuration that reached it. */
  isConfigCurrent?: boolean;
  /** The largest delay of an event loop, in seconds (99th percentile). */
  lag?: number;
}

export interface FleetGauges {
  /** The gauges of each node, by its id. */
  readonly nodes: ReadonlyMap<string, NodeGauges>;
  /** The addresses of nodes that did not answer the scrape. */
  readonly unscraped: readonly string[];
  /** The number of served entities by collection. */
  readonly entities: ReadonlyMap<string, number>;
  /** Plugins that the configuration uses and a node lacks. */
  readonly missingPlugins: ReadonlySet<string>;
}

const WANTED: ReadonlySet<string> = new Set([
  "process_resident_memory_bytes",
  "nodejs_eventloop_lag_p99_seconds",
  "config_last_reload_successful",
  "node_scraped",
  "entities",
  "db_entities_total",
  "plugins_missing",
]);

export async function readFleetGauges(body: ReadableStream<Uint8Array>): Promise<FleetGauges> {
  const nodes = new Map<string, NodeGauges>();
  const unscraped: string[] = [];
  const entities = new Map<string, number>();
  const missingPlugins = new Set<string>();
  const gauges = (id = ""): NodeGauges => {
    const node = nodes.get(id) ?? {};
    nodes.set(id, node);
    return node;
  };
  for await (const { name, labels, value } of readMetricLines(body, WANTED)) {
    if (name === "process_resident_memory_bytes") gauges(labels.node_id).memory = value;
    else if (name === "config_last_reload_successful") gauges(labels.node_id).isConfigCurrent = value === 1;
    else if (name === "nodejs_eventloop_lag_p99_seconds") {
      const node = gauges(labels.node_id);
      node.lag = Math.max(node.lag ?? 0, value);
    } else if (name === "node_scraped" && value === 0) unscraped.push(labels.node ?? "");
    else if (name === "entities" || name === "db_entities_total") {
      const kind = labels.kind ?? "";
      entities.set(kind, Math.max(entities.get(kind) ?? 0, value));
    } else if (name === "plugins_missing" && value > 0) missingPlugins.add(labels.plugin ?? "");
  }
  return { nodes, unscraped, entities, missingPlugins };
}
