/** GET /metrics of the admin listener: the metrics of all nodes added up. */
import { DATA_LINES, metricsFromJsonLines } from "../../../metrics/data-lines.ts";
import { MetricSum, type MetricsPart, metricsText, TEXT_FORMAT } from "../../../metrics/slices.ts";
import { ReadTable } from "../../../metrics/table.ts";
import type { Fleet, FleetNode } from "../../../stores/store.ts";

/** Milliseconds to wait for a node. The metrics of a slower node are left out, and the response names the node. */
const NODE_TIMEOUT = 2000;

export const nodeScraped = {
  name: "sluice_node_scraped",
  help: "Whether the metrics of this node are included",
  labelNames: ["node"],
} as const;

async function scrape({ status }: FleetNode): Promise<readonly MetricsPart[] | null> {
  if (status === null) return null;
  try {
    const response = await fetch(`${status}/metrics`, {
      headers: { accept: DATA_LINES },
      redirect: "error",
      signal: AbortSignal.timeout(NODE_TIMEOUT),
    });
    if (!response.ok || response.body === null) return null;
    return await Array.fromAsync(metricsFromJsonLines(response.body));
  } catch {
    // The gauge sluice_node_scraped reports the missing response.
    return null;
  }
}

/**
 * Counters and histograms are summed over the nodes; gauges carry the node's id. `sluice_node_scraped` is 1 for a node
 * whose metrics are included, and 0 for a node that did not respond.
 */
export async function nodesMetrics(fleet: Fleet) {
  const nodes = await fleet.nodes();
  const scraped = await Promise.all(nodes.map(scrape));
  const included = new ReadTable(nodeScraped, () =>
    nodes.map(({ address }, index) => [[address], Number(scraped[index] !== null)]),
  );
  const sum = new MetricSum();
  for (const parts of scraped) await sum.addAll(parts ?? []);
  return { contentType: TEXT_FORMAT, text: copied(metricsText([...sum.tables, included])) };
}

/** The slices in memory of their own: a stream requests the next one before it has sent the last. */
async function* copied(slices: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const slice of slices) yield Buffer.from(slice);
}
