/** Merges the metrics of the control thread with those of the worker threads. */
import { metricsToJsonLines } from "../metrics/data-lines.ts";
import type { GatewayMetrics } from "../metrics/metrics.ts";
import type { RuntimeMetrics } from "../metrics/runtime-metrics.ts";
import { MetricSum, type MetricsParts, metricsPartsOf, metricsText } from "../metrics/slices.ts";

/** Each piece is generated in its own turn of the event loop, and valid until the next one is requested. */
export interface NodeMetrics {
  /** In Prometheus text format. */
  text(): AsyncIterable<Uint8Array>;
  /** In the format of data-lines.ts. */
  data(): AsyncIterable<string>;
}

/** Read at every scrape. */
export interface MetricSources {
  /** The metrics of other threads; null when everything is counted in this one. */
  readonly workers: () => Promise<MetricsParts | null>;
  readonly runtime: RuntimeMetrics;
}

export function mergeMetrics(own: GatewayMetrics, { workers, runtime }: MetricSources): NodeMetrics {
  async function tables() {
    const others = await workers();
    const sum = new MetricSum();
    if (others !== null) {
      await sum.addAll(metricsPartsOf(own.tables));
      await sum.addAll(others);
    }
    await sum.addAll(await runtime());
    return others === null ? [...own.tables, ...sum.tables] : sum.tables;
  }

  return {
    async *text() {
      yield* metricsText(await tables());
    },
    async *data() {
      yield* metricsToJsonLines(metricsPartsOf(await tables()));
    },
  };
}
