/** GET /metrics of the admin listener: the metrics of all nodes added up. */
import { AggregatorRegistry, Gauge, type MetricObject, Registry } from "prom-client";
import { DATA_LINES, readData } from "../../metrics/data-lines.ts";
import { type MetricsPart, Sum, textOf } from "../../metrics/slices.ts";
import type { Fleet, FleetNode } from "../../stores/opened-store.ts";

export interface RenderedMetrics {
  readonly contentType: string;
  readonly text: AsyncIterable<string>;
}

/** Milliseconds to wait for a node; a slower one is left out and named. */
const NODE_TIMEOUT = 2000;

interface Scraped {
  readonly gauges: readonly MetricObject[];
  readonly parts: readonly MetricsPart[];
}

async function scrape({ status }: FleetNode): Promise<Scraped | null> {
  if (status === null) return null;
  try {
    const response = await fetch(`${status}/metrics`, {
      headers: { accept: DATA_LINES },
      redirect: "error",
      signal: AbortSignal.timeout(NODE_TIMEOUT),
    });
    if (!response.ok || response.body === null) return null;
    const gauges: MetricObject[] = [];
    const parts: MetricsPart[] = [];
    for await (const datum of readData(response.body)) {
      if ("gauges" in datum) gauges.push(...datum.gauges);
      else parts.push(datum.part);
    }
    return { gauges, parts };
  } catch {
    // The gauge reports the missing response.
    return null;
  }
}

/**
 * Counters and histograms are summed over the nodes; gauges carry the node's id. `sluice_node_scraped` lists the nodes
 * that are included; it is 0 for a node that did not respond.
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
  const gauges = AggregatorRegistry.aggregate([
    ...answered.map((metrics) => [...metrics.gauges]),
    await own.getMetricsAsJSON(),
  ]);
  const sum = new Sum();
  for (const { parts } of answered) await sum.addAll(parts);
  return { contentType: own.contentType, text: textOfAll(sum, () => gauges.metrics()) };
}

async function* textOfAll({ tables }: Sum, gauges: () => Promise<string>): AsyncGenerator<string> {
  yield* textOf(tables);
  yield `${tables.length > 0 ? "\n" : ""}${await gauges()}`;
}
