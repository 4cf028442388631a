/**
 * Detects workers whose event loop is blocked. Each worker increments its own word in shared memory, which needs no
 * message; the control thread checks whether the words change. It counts checks instead of time, so that no worker is
 * blamed for a pause of the whole process.
 */

/**
 * Layout: a word for the ticks of the control thread, a word per worker for its beats, an unused word, and a word per
 * worker for the number of the plugin that it runs.
 *
 * @param count Number of workers, which are numbered from 1
 */
export const createHeartbeatMemory = (count: number): SharedArrayBuffer =>
  new SharedArrayBuffer(2 * (count + 1) * Int32Array.BYTES_PER_ELEMENT);

export interface PluginWords {
  /** The number of the plugin that runs (see `pluginNumbered`); 0: none. */
  readonly running: Int32Array;
  /**
   * Increases even while the worker's event loop is blocked, because the control thread increments it; see
   * `TICK_MILLISECONDS`.
   */
  readonly ticks: Int32Array;
}

/** Milliseconds between two ticks. */
export const TICK_MILLISECONDS = 25;

/** The words for the plugin that a worker runs, and for the ticks that show how long its event loop was blocked. */
export function pluginWordsOf({ beats }: HeartbeatOptions, owner: number): PluginWords {
  const half = beats.byteLength / 2;
  return {
    running: new Int32Array(beats, half + owner * Int32Array.BYTES_PER_ELEMENT, 1),
    ticks: new Int32Array(beats, 0, 1),
  };
}

export interface HeartbeatOptions {
  readonly beats: SharedArrayBuffer;
  /** Milliseconds without a beat after which a worker counts as stuck. */
  readonly timeout: number;
}

const CHECKS_PER_TIMEOUT = 10;
/** Maximum milliseconds between two beats. */
const MAX_INTERVAL = 1000;

/** Increments the worker's word regularly until the thread ends. */
export function startHeartbeat({ beats, timeout }: HeartbeatOptions, owner: number): void {
  const words = new Int32Array(beats);
  setInterval(() => Atomics.add(words, owner, 1), Math.min(timeout / CHECKS_PER_TIMEOUT / 2, MAX_INTERVAL)).unref();
}

export class HeartbeatMonitor {
  readonly #words: Int32Array;
  readonly #timer: NodeJS.Timeout;
  readonly #ticking: NodeJS.Timeout;
  /** By worker number: the beats at the last check, and the number of checks since they changed. */
  readonly #seen = new Map<number, { beats: number; looks: number }>();
  readonly #onStuck: (owner: number) => void;

  /** @param onStuck Called once for each watched worker that gets stuck */
  constructor({ beats, timeout }: HeartbeatOptions, onStuck: (owner: number) => void) {
    this.#words = new Int32Array(beats);
    this.#onStuck = onStuck;
    this.#timer = setInterval(() => this.#check(), timeout / CHECKS_PER_TIMEOUT).unref();
    this.#ticking = setInterval(() => Atomics.add(this.#words, 0, 1), TICK_MILLISECONDS).unref();
  }

  /** Called when the worker has begun to beat. */
  watch(owner: number): void {
    this.#seen.set(owner, { beats: Atomics.load(this.#words, owner), looks: 0 });
  }

  /** Called when the worker has ended. */
  unwatch(owner: number): void {
    this.#seen.delete(owner);
  }

  close(): void {
    clearInterval(this.#timer);
    clearInterval(this.#ticking);
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
