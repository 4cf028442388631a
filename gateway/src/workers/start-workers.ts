/** Starts the configured number of workers. */
import { availableParallelism } from "node:os";
import { gatewaySettings as names } from "../settings/gateway.ts";
import type { StartWorkersOptions, Workers } from "./workers.ts";

export const workerCount = (setting: number | "auto"): number =>
  setting === "auto" ? Math.min(availableParallelism(), names.workers.maximum) : setting;

/** Rejects when an address cannot be listened on. */
export async function startWorkers(count: number, options: StartWorkersOptions): Promise<Workers> {
  if (count === 1) return (await import("./single-worker.ts")).startSingleWorker(options);
  return (await import("./worker-pool.ts")).startWorkerPool(count, options);
}
