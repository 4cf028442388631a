/** Merges the metrics of a node with the counts of its workers. */
import { AggregatorRegistry, type MetricObject } from "prom-client";
import { writeData } from "../metrics/data-lines.ts";
import type { GatewayMetrics } from "../metrics/metrics.ts";
import type { RuntimeMetrics } from "../metrics/runtime-metrics.ts";
import { type MetricsPart, partsOf, Sum, textOf } from "../metrics/slices.ts";

/** Each piece is generated in its own turn of the event loop: send the pieces as they come. */
export interface NodeMetrics {
  /** In Prometheus text format. */
  text(): AsyncIterable<string>;
  /** See data-lines.ts. */
  data(): AsyncIterable<string>;
  /** The content type of `text`. */
  readonly contentType: string;
}

/** Read at every scrape. */
export interface MetricSources {
  /** Null when the node's own metrics are complete. */
  readonly counted: () => Promise<AsyncIterable<MetricsPart> | null>;
  /** The runtime metrics of this thread. */
  readonly runtime: RuntimeMetrics;
  /** The runtime metrics of other threads, as of the last request for their counts. */
  readonly otherRuntimes: () => readonly MetricObject[];
}

export function mergeMetrics(own: GatewayMetrics, { counted, runtime, otherRuntimes }: MetricSources): NodeMetrics {
  async function tables() {
    const parts = await counted();
    if (parts === null) return own.tables;
    const sum = new Sum();
    await sum.addAll(partsOf(own.tables));
    await sum.addAll(parts);
    return sum.tables;
  }

  return {
    contentType: own.contentType,
    async *text() {
      yield* textOf(await tables());
      yield `\n${await own.gauges()}`;
      const runtimes = AggregatorRegistry.aggregate([[...(await runtime())], [...otherRuntimes()]]);
      yield `\n${await runtimes.metrics()}`;
    },
    async *data() {
      const merged = await tables();
      const gauges = [...(await own.gaugeValues()), ...(await runtime()), ...otherRuntimes()];
      yield* writeData(gauges, partsOf(merged));
    },
  };
}
