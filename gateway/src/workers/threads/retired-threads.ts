import type { Connections } from "../../metrics/metrics.ts";
import { MetricSum, type MetricsPart, metricsPartsOf } from "../../metrics/slices.ts";
import type { WorkerReport } from "../workers.ts";

/** Totals of threads that have ended, from their last reports: totals of a node must never decrease. */
export class RetiredThreads {
  connections: Connections = addConnections([]);
  readonly #sum = new MetricSum();

  add(report: WorkerReport | null, parts: readonly MetricsPart[]): void {
    for (const part of parts) this.#sum.add(part);
    if (report === null) return;
    const { accepted, handled, requests } = report.connections;
    // The ended thread's open connections are gone; only the totals remain.
    const none = { active: 0, reading: 0, writing: 0, waiting: 0 };
    this.connections = addConnections([this.connections, { accepted, handled, requests, ...none }]);
  }

  parts(): AsyncIterable<MetricsPart> {
    return metricsPartsOf(this.#sum.tables);
  }
}

export function addConnections(all: readonly Connections[]): Connections {
  const sum = { accepted: 0, handled: 0, active: 0, reading: 0, writing: 0, waiting: 0, requests: 0 };
  for (const each of all) {
    for (const name of Object.keys(sum) as (keyof Connections)[]) sum[name] += each[name];
  }
  return sum;
}
