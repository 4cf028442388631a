import type { Connections } from "../../metrics/metrics.ts";
import { MetricSum, type MetricsPart, metricsPartsOf } from "../../metrics/slices.ts";
import type { WorkerReport } from "../workers.ts";
import type { WorkerThread } from "./worker-thread.ts";

/** Totals of threads that have ended, from their last reports: totals of a node must never decrease. */
export class RetiredThreads {
  connections: Connections = addConnections([]);
  readonly #sum = new MetricSum();
  /** Counts that are added to the sum when no reading is in progress, so that no reading contains half of them. */
  readonly #late: MetricsPart[] = [];
  #readings = 0;

  add(report: WorkerReport | null, parts: readonly MetricsPart[]): void {
    this.#late.push(...parts);
    this.#addLate();
    if (report === null) return;
    const { accepted, handled, requests } = report.connections;
    // The ended thread's open connections are gone; only the totals remain.
    const none = { active: 0, reading: 0, writing: 0, waiting: 0 };
    this.connections = addConnections([this.connections, { accepted, handled, requests, ...none }]);
  }

  /** These totals and the counts of the other threads, all from the turn in which the first part is read. */
  async *partsWith(others: () => readonly Pick<WorkerThread, "parts" | "runtime">[]): AsyncGenerator<MetricsPart> {
    const further = [...this.#late, ...others().flatMap(({ parts, runtime }) => [...parts, ...runtime])];
    this.#readings++;
    try {
      yield* metricsPartsOf(this.#sum.tables);
    } finally {
      this.#readings--;
      this.#addLate();
    }
    yield* further;
  }

  #addLate(): void {
    if (this.#readings > 0) return;
    for (const part of this.#late.splice(0)) this.#sum.add(part);
  }
}

export function addConnections(all: readonly Connections[]): Connections {
  const sum = { accepted: 0, handled: 0, active: 0, reading: 0, writing: 0, waiting: 0, requests: 0 };
  for (const each of all) {
    for (const name of Object.keys(sum) as (keyof Connections)[]) sum[name] += each[name];
  }
  return sum;
}
