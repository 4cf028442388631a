/** The metrics of a node: its own, and what its workers have counted. */
import { AggregatorRegistry, type MetricObject } from "prom-client";
import type { Metrics } from "../plugins/index.ts";
import type { WorkersReport } from "./workers.ts";

export type MergedMetrics = Pick<Metrics, "render" | "json" | "contentType">;

/** @param report Asked at every scrape. */
export function mergeMetrics(own: Metrics, report: () => Promise<Pick<WorkersReport, "metrics">>): MergedMetrics {
  async function merged() {
    const { metrics } = await report();
    if (metrics.length === 0) return null;
    const all = [(await own.json()) as MetricObject[], ...metrics.map((each) => [...each])];
    return AggregatorRegistry.aggregate(all);
  }

  return {
    contentType: own.contentType,
    render: async () => (await merged())?.metrics() ?? own.render(),
    json: async () => (await merged())?.getMetricsAsJSON() ?? own.json(),
  };
}
