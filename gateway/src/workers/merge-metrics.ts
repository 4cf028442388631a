/** The metrics of a node: its own, and what its workers have counted. */
import { type Metrics, type Part, partsOf, Sum, textOf, writeData } from "../plugins/index.ts";

/** A turn of the event loop for every slice of it: to be sent as it comes. */
export interface NodeMetrics {
  /** In Prometheus' text format. */
  text(): AsyncIterable<string>;
  /** See data-lines.ts. */
  data(): AsyncIterable<string>;
  /** Of `text`. */
  readonly contentType: string;
}

/** @param counted Asked at every scrape; null when the node's own metrics have it all. */
export function mergeMetrics(own: Metrics, counted: () => Promise<AsyncIterable<Part> | null>): NodeMetrics {
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
    },
    async *data() {
      yield* writeData(await own.gaugeValues(), partsOf(await tables()));
    },
  };
}
