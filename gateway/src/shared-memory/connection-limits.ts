/**
 * Counts client connections over all workers of a node, in total and by address. Each worker has its own word, and a
 * table if addresses are limited, so that the counts of a dead worker can be released.
 */
import { getRandomValues } from "node:crypto";
import { HASH_KEY_WORDS } from "./keyed-hash.ts";
import { releaseWorkerCounts, WorkerCounts, workerCountsBytes } from "./worker-counts.ts";

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** 0: addresses are not limited. */
  readonly maxConnectionsPerAddress: number;
}

/** Limits on client connections, in total and per client address, over all threads that share the slots. */
export interface ConnectionSlots {
  /**
   * Returns false when no slot is left, or when the address has reached its own limit.
   *
   * @param address Null: not known yet; `countAddress` counts it later
   */
  acquire(address: string | null): boolean;
  /** @param address The value that `acquire` received */
  release(address: string | null): void;
  /** Counts an address for a slot that was acquired without one. Returns false when the address has reached its limit. */
  countAddress(address: string): boolean;
  uncountAddress(address: string): void;
}

/** Sent to workers in a message. */
export interface ConnectionLimitsMemory {
  readonly workers: number;
  readonly limits: ConnectionLimits;
  /** One word per worker; word 0 is unused. */
  readonly counts: SharedArrayBuffer;
  /** Null: addresses are not limited. */
  readonly addresses: { readonly buffer: SharedArrayBuffer; readonly key: Uint32Array } | null;
}

/** @param workers Number of workers, which are numbered from 1 */
export function createConnectionLimitsMemory(workers: number, limits: ConnectionLimits): ConnectionLimitsMemory {
  const { maxConnections, maxConnectionsPerAddress } = limits;
  return {
    workers,
    limits,
    counts: new SharedArrayBuffer((workers + 1) * Int32Array.BYTES_PER_ELEMENT),
    addresses:
      maxConnectionsPerAddress === 0
        ? null
        : {
            buffer: new SharedArrayBuffer(workerCountsBytes(workers, maxConnections)),
            key: getRandomValues(new Uint32Array(HASH_KEY_WORDS)),
          },
  };
}

/**
 * The node's slots, as one worker uses them. The limits are never exceeded. When several connections race for the last
 * slot, all of them may be refused.
 */
export function sharedConnectionLimits(
  { workers, limits, counts, addresses }: ConnectionLimitsMemory,
  owner: number,
): ConnectionSlots {
  const words = new Int32Array(counts);
  const ofAddress = addresses && new WorkerCounts({ ...addresses, workers, owner });
  const leave = () => void Atomics.sub(words, owner, 1);
  const acquire = () => {
    // Add first, then sum: of two workers that do so concurrently, at least one sees the other's count.
    Atomics.add(words, owner, 1);
    let sum = 0;
    for (let at = 0; at < words.length; at++) sum += Atomics.load(words, at);
    if (sum <= limits.maxConnections) return true;
    leave();
    return false;
  };
  const countAddress = (address: string) =>
    ofAddress === null || ofAddress.incrementBelow(address, limits.maxConnectionsPerAddress);
  const uncountAddress = (address: string) => ofAddress?.decrement(address);
  return {
    acquire(address) {
      if (!acquire()) return false;
      if (address === null || countAddress(address)) return true;
      leave();
      return false;
    },
    release(address) {
      leave();
      if (address !== null) uncountAddress(address);
    },
    countAddress,
    uncountAddress,
  };
}

/** Releases the counts of a worker that has ended, because its connections ended with it. */
export function releaseWorkerConnections({ counts, addresses, workers }: ConnectionLimitsMemory, owner: number): void {
  Atomics.store(new Int32Array(counts), owner, 0);
  if (addresses !== null) releaseWorkerCounts(addresses.buffer, workers, owner);
}
