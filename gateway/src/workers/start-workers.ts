/** Starts the configured number of workers. */
import { availableParallelism } from "node:os";
import type { Logger } from "pino";
import type { BalancerTools } from "../compile/balancers.ts";
import type { Counters } from "../counters/counters.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { gatewaySettings as names } from "../settings/gateway.ts";
import type { WorkerPlan } from "./worker.ts";
import type { Workers } from "./workers.ts";

export interface StartWorkersOptions extends Pick<BalancerTools, "onHealthTransition"> {
  readonly plan: WorkerPlan;
  readonly log: Logger;
  /** The metrics of the node; a worker in this thread counts there directly. */
  readonly metrics: Metrics;
  readonly metricsOptions: { readonly compat: boolean; readonly nodeId: string; readonly version: string };
  /** Milliseconds after which a thread with a blocked event loop is replaced. */
  readonly workerTimeout: number;
  /** Counters of `policy: cluster`. */
  readonly clusterCounters?: Counters;
}

export const workerCount = (setting: number | "auto"): number =>
  setting === "auto" ? Math.min(availableParallelism(), names.workers.maximum) : setting;

/** Rejects when an address cannot be listened on. */
export async function startWorkers(count: number, options: StartWorkersOptions): Promise<Workers> {
  if (count === 1) return (await import("./single-worker.ts")).startSingleWorker(options);
  return (await import("./worker-pool.ts")).startWorkerPool(count, options);
}
