/**
 * Drops cached items of targets that no longer receive requests. After a runtime swap it scans only the cached items,
 * not all targets. It works in small batches, and pauses after a scan for a multiple of the time that the scan cost.
 */
import type { Runtime, UpstreamIndex, UpstreamTarget } from "../../compile/runtime.ts";

export interface TargetSweeperOptions<Item> {
  /** Keyed by the target's key. */
  readonly kept: ReadonlyMap<string, Item>;
  /** Removes an item from the cache. */
  readonly drop: (key: string, item: Item) => void;
}

/** Items per event loop turn. */
const BATCH_SIZE = 100;
/** Length of the pause, as a multiple of the time that a scan cost. */
const PAUSE_FACTOR = 50;

export class TargetSweeper<Item extends { readonly target: UpstreamTarget }> {
  readonly #options: TargetSweeperOptions<Item>;
  #upstreams: UpstreamIndex | null = null;
  /** Whether the runtime changed since the current scan began. */
  #isStale = false;
  #isBusy = false;
  #rest: NodeJS.Timeout | undefined;

  constructor(options: TargetSweeperOptions<Item>) {
    this.#options = options;
  }

  /** Called with the runtime of every new request. */
  follow({ upstreams }: Runtime): void {
    if (this.#upstreams === upstreams) return;
    const isFirst = this.#upstreams === null;
    this.#upstreams = upstreams;
    if (isFirst) return;
    this.#isStale = true;
    if (!this.#isBusy) this.#begin();
  }

  /** Whether the current runtime may send requests to the target; true before the first runtime. */
  serves(target: UpstreamTarget): boolean {
    return this.#upstreams?.serves(target) ?? true;
  }

  close(): void {
    this.#isBusy = true;
    clearTimeout(this.#rest);
  }

  #begin(): void {
    this.#isBusy = true;
    this.#isStale = false;
    setImmediate(() => this.#sweepBatch(this.#options.kept.entries(), 0));
  }

  #sweepBatch(items: Iterator<[string, Item]>, spent: number): void {
    const from = performance.now();
    for (let left = BATCH_SIZE; left > 0; left--) {
      const { done, value } = items.next();
      if (done) {
        this.#pause((spent + performance.now() - from) * PAUSE_FACTOR);
        return;
      }
      const [key, item] = value;
      if (!this.serves(item.target)) this.#options.drop(key, item);
    }
    const took = spent + performance.now() - from;
    setImmediate(() => this.#sweepBatch(items, took));
  }

  #pause(milliseconds: number): void {
    this.#rest = setTimeout(() => {
      this.#isBusy = false;
      if (this.#isStale) this.#begin();
    }, milliseconds).unref();
  }
}
