/** Slots for what is in progress at the same time: for a single worker, and for workers that share memory. */
import { getRandomValues } from "node:crypto";
import type { Concurrency } from "@sluice/plugin-sdk";
import { HASH_KEY_WORDS } from "../shared-memory/keyed-hash.ts";
import { releaseWorkerCounts, WorkerCounts, workerCountsBytes } from "../shared-memory/worker-counts.ts";

/** The slots of a single worker in the control thread. */
export class ThreadConcurrency implements Concurrency {
  readonly #held = new Map<string, number>();

  acquire(name: string, limit: number): boolean {
    const held = this.held(name);
    if (held >= limit) return false;
    this.#held.set(name, held + 1);
    return true;
  }

  release(name: string): void {
    const held = this.held(name);
    if (held > 1) this.#held.set(name, held - 1);
    else this.#held.delete(name);
  }

  held(name: string): number {
    return this.#held.get(name) ?? 0;
  }
}

/** Sent to workers in a message. */
export interface ConcurrencyMemory {
  readonly workers: number;
  readonly buffer: SharedArrayBuffer;
  readonly key: Uint32Array;
}

/**
 * @param workers Number of workers, which are numbered from 1
 * @param names Number of names under which a worker certainly can hold slots at the same time
 */
export const createConcurrencyMemory = (workers: number, names: number): ConcurrencyMemory => ({
  workers,
  buffer: new SharedArrayBuffer(workerCountsBytes(workers, names)),
  key: getRandomValues(new Uint32Array(HASH_KEY_WORDS)),
});

/** The node's slots, as one worker uses them. */
export function sharedConcurrency(memory: ConcurrencyMemory, owner: number): Concurrency {
  const counts = new WorkerCounts({ ...memory, owner });
  return {
    acquire: (name, limit) => counts.incrementBelow(name, limit),
    release: (name) => counts.decrement(name),
    held: (name) => counts.count(name),
  };
}

/** Releases the slots of a worker that has ended. */
export function releaseWorkerConcurrency({ buffer, workers }: ConcurrencyMemory, owner: number): void {
  releaseWorkerCounts(buffer, workers, owner);
}
