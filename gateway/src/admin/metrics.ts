/** GET /metrics of the admin listener: the metrics of all nodes in one (kong-contract 3.5). */
import { AggregatorRegistry, Gauge, type MetricObject, Registry } from "prom-client";
import type { Fleet, FleetNode } from "../stores/open.ts";

export interface RenderedMetrics {
  readonly contentType: string;
  readonly text: string;
}

/** Milliseconds that a node may take; one that takes longer is left out and named. */
const NODE_TIMEOUT = 2000;

async function scrape({ status }: FleetNode): Promise<MetricObject[] | null> {
  if (status === null) return null;
  try {
    const response = await fetch(`${status}/metrics`, {
      headers: { accept: "application/json" },
      redirect: "error",
      signal: AbortSignal.timeout(NODE_TIMEOUT),
    });
    return response.ok ? ((await response.json()) as MetricObject[]) : null;
  } catch {
    // That it gave no answer is what the gauge says.
    return null;
  }
}

/**
 * Counters and histograms are the sums over the nodes; gauges carry the node's id. `sluice_node_scraped` tells whose
 * metrics are in it; it is 0 for a node that gave none.
 */
export async function nodesMetrics(fleet: Fleet): Promise<RenderedMetrics> {
  const nodes = await fleet.nodes();
  const scraped = await Promise.all(nodes.map(scrape));
  const own = new Registry();
  const gauge = new Gauge({
    name: "sluice_node_scraped",
    help: "Whether the metrics of the node are among these",
    labelNames: ["node"],
    registers: [own],
  });
  for (const [index, { address }] of nodes.entries()) gauge.set({ node: address }, scraped[index] ? 1 : 0);
  const answered = scraped.filter((metrics) => metrics !== null);
  const merged = AggregatorRegistry.aggregate([...answered, await own.getMetricsAsJSON()]);
  return { contentType: own.contentType, text: await merged.metrics() };
}
