/** The memory that the workers of a node share, apart from their heartbeats. Sent to workers in a message. */
import {
  type ConcurrencyMemory,
  createConcurrencyMemory,
  releaseWorkerConcurrency,
} from "../../counters/concurrency.ts";
import { type CountersMemory, createCountersMemory } from "../../counters/shared-counters.ts";
import {
  type ConnectionLimits,
  type ConnectionLimitsMemory,
  createConnectionLimitsMemory,
  releaseWorkerConnections,
} from "../../shared-memory/connection-limits.ts";

export interface NodeMemory {
  /** Counters and buckets of plugins with policy `local`. */
  readonly counters: CountersMemory;
  readonly connectionLimits: ConnectionLimitsMemory;
  /** The slots of `context.concurrency` of plugins. */
  readonly concurrency: ConcurrencyMemory;
}

/** @param workers Number of workers, which are numbered from 1 */
export const createNodeMemory = (workers: number, limits: ConnectionLimits): NodeMemory => ({
  counters: createCountersMemory(),
  connectionLimits: createConnectionLimitsMemory(workers, limits),
  concurrency: createConcurrencyMemory(workers, limits.maxConnections),
});

/** Releases the connections and slots of a worker that has ended. Its counters stay. */
export function releaseWorkerMemory({ connectionLimits, concurrency }: NodeMemory, worker: number): void {
  releaseWorkerConnections(connectionLimits, worker);
  releaseWorkerConcurrency(concurrency, worker);
}
