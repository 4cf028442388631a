/** What workers that are no more have counted, as of their last report: sums must not go down. */
import { AggregatorRegistry, type MetricObject } from "prom-client";
import type { Connections } from "../plugins/prometheus/metrics.ts";
import type { ThreadReport } from "./messages.ts";
import { addConnections } from "./workers.ts";

export class Retired {
  connections: Connections = addConnections([]);
  metrics: readonly MetricObject[] = [];
  #added: Promise<void> = Promise.resolve();

  add(report: ThreadReport | null): void {
    if (report === null) return;
    const { accepted, handled, requests } = report.connections;
    // Its connections are no more.
    const none = { active: 0, reading: 0, writing: 0, waiting: 0 };
    this.connections = addConnections([this.connections, { accepted, handled, requests, ...none }]);
    this.#added = this.#added.then(async () => {
      this.metrics = await AggregatorRegistry.aggregate([[...this.metrics], [...report.metrics]]).getMetricsAsJSON();
    });
  }
}
