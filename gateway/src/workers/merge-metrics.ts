/** The metrics of a node: its own, and what its workers have counted. */
import { AggregatorRegistry, type MetricObject } from "prom-client";
import { type Metrics, type Part, partsOf, type RuntimeMetrics, Sum, textOf, writeData } from "../plugins/index.ts";

/** A turn of the event loop for every slice of it: to be sent as it comes. */
export interface NodeMetrics {
  /** In Prometheus' text format. */
  text(): AsyncIterable<string>;
  /** See data-lines.ts. */
  data(): AsyncIterable<string>;
  /** Of `text`. */
  readonly contentType: string;
}

/** What is asked at every scrape. */
export interface MetricSources {
  /** Null when the node's own metrics have it all. */
  readonly counted: () => Promise<AsyncIterable<Part> | null>;
  /** Of this thread. */
  readonly runtime: RuntimeMetrics;
  /** Of other threads, as they told when they were last asked what they counted. */
  readonly otherRuntimes: () => readonly MetricObject[];
}

export function mergeMetrics(own: Metrics, { counted, runtime, otherRuntimes }: MetricSources): NodeMetrics {
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
