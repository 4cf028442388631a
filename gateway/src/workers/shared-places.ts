/**
 * How many connections of clients all workers of a node have: one word for each worker, so that those of one that died
 * can be given back.
 */
import type { Places } from "../proxy/engine.ts";

/** @param count Workers, numbered from 1. */
export const createPlacesBuffer = (count: number): SharedArrayBuffer =>
  new SharedArrayBuffer((count + 1) * Int32Array.BYTES_PER_ELEMENT);

export interface SharedPlacesOptions {
  readonly buffer: SharedArrayBuffer;
  readonly owner: number;
  /** Of all workers. */
  readonly limit: number;
}

/** Never more than the limit; of several that come at once for the last place it may be that none gets it. */
export function sharedPlaces({ buffer, owner, limit }: SharedPlacesOptions): Places {
  const words = new Int32Array(buffer);
  const leave = () => void Atomics.sub(words, owner, 1);
  return {
    take() {
      // First in, then counted: of two who do so at once at least one sees the other.
      Atomics.add(words, owner, 1);
      let sum = 0;
      for (let at = 0; at < words.length; at++) sum += Atomics.load(words, at);
      if (sum <= limit) return true;
      leave();
      return false;
    },
    leave,
  };
}

/** The owner is no more, and its connections with it. */
export function leaveAll(buffer: SharedArrayBuffer, owner: number): void {
  Atomics.store(new Int32Array(buffer), owner, 0);
}
