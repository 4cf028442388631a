/**
 * Whether the event loops of workers turn. Each counts in a word of its own in shared memory, which asks nobody for
 * time; the control thread looks whether the words change. It counts its own looks, and no time: while the whole
 * process stood still, nobody was stuck.
 */

/** @param count Workers, numbered from 1 */
export const createHeartbeatMemory = (count: number): SharedArrayBuffer =>
  new SharedArrayBuffer((count + 1) * Int32Array.BYTES_PER_ELEMENT);

export interface HeartbeatOptions {
  readonly beats: SharedArrayBuffer;
  /** Milliseconds without a beat after which a worker is stuck. */
  readonly timeout: number;
}

/** Looks in that time. */
const CHECKS_PER_TIMEOUT = 10;
/** Milliseconds between two beats at the most. */
const MAX_INTERVAL = 1000;

/** Beats from now on, as long as the thread lives. */
export function startHeartbeat({ beats, timeout }: HeartbeatOptions, owner: number): void {
  const words = new Int32Array(beats);
  setInterval(() => Atomics.add(words, owner, 1), Math.min(timeout / CHECKS_PER_TIMEOUT / 2, MAX_INTERVAL)).unref();
}

/** The control thread's watch over all workers. */
export class HeartbeatMonitor {
  readonly #words: Int32Array;
  readonly #timer: NodeJS.Timeout;
  /** By number: the beats at the last look, and for how many looks they have been the same. */
  readonly #seen = new Map<number, { beats: number; looks: number }>();
  readonly #onStuck: (owner: number) => void;

  /** @param onStuck Told once of each that is watched */
  constructor({ beats, timeout }: HeartbeatOptions, onStuck: (owner: number) => void) {
    this.#words = new Int32Array(beats);
    this.#onStuck = onStuck;
    this.#timer = setInterval(() => this.#check(), timeout / CHECKS_PER_TIMEOUT).unref();
  }

  /** It has begun to beat. */
  watch(owner: number): void {
    this.#seen.set(owner, { beats: Atomics.load(this.#words, owner), looks: 0 });
  }

  /** It is no more. */
  unwatch(owner: number): void {
    this.#seen.delete(owner);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    for (const [owner, seen] of this.#seen) {
      const beats = Atomics.load(this.#words, owner);
      seen.looks = beats === seen.beats ? seen.looks + 1 : 0;
      seen.beats = beats;
      if (seen.looks < CHECKS_PER_TIMEOUT) continue;
      this.unwatch(owner);
      this.#onStuck(owner);
    }
  }
}
