/** What serves the clients of a node: one worker in the control thread, or several in threads of their own. */
import type { Snapshot } from "@sluice/model";
import type { MetricObject } from "prom-client";
import type { Balancer } from "../balance/balancer.ts";
import type { Connections, Heap } from "../plugins/prometheus/metrics.ts";
import type { Part } from "../plugins/prometheus/slices.ts";
import type { ListenAddress } from "../proxy/settings.ts";
import type { RefusedDestination } from "../proxy/upstream/refused-destinations.ts";

export interface Workers {
  readonly address: ListenAddress;
  /** Null when nothing is answered over TLS. */
  readonly tlsAddress: ListenAddress | null;
  /** Resolves once every worker serves it. When it rejects, all go on with what they served. */
  serve(snapshot: Snapshot): Promise<void>;
  /** Those of what is served, by upstream id. A change of health here is one of all workers. */
  balancers(): ReadonlyMap<string, Balancer>;
  report(): Promise<WorkersReport>;
  /** What threads have counted; null when everything is counted in the control thread. */
  metricParts(): Promise<AsyncIterable<Part> | null>;
  /** What `nodejs_*` the threads told when they were last asked what they counted; empty without threads. */
  runtimeMetrics(): readonly MetricObject[];
  /** Why nobody takes requests; null when somebody does. */
  unavailableReason(): string | null;
  /** Opens files anew that were moved away. */
  reopenLogs(): void;
  /** Drains all; after `deadline` milliseconds what is left is cut off. */
  close(options: { readonly deadline: number }): Promise<void>;
}

export interface WorkersReport {
  /** Of all workers since the start of the node. */
  readonly connections: Connections;
  /** Bytes of the heaps of all threads but the control thread. */
  readonly heap: Heap;
  /** Destinations to which workers made no connection, because their addresses may not be reached. */
  readonly refused: readonly RefusedDestination[];
}

/** Sums, member by member. */
export function addConnections(all: readonly Connections[]): Connections {
  const sum = { accepted: 0, handled: 0, active: 0, reading: 0, writing: 0, waiting: 0, requests: 0 };
  for (const each of all) {
    for (const name of Object.keys(sum) as (keyof Connections)[]) sum[name] += each[name];
  }
  return sum;
}
