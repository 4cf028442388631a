/**
 * Lets go of what is kept for targets that no request will go to any more. After a swap only what is kept is looked at,
 * and not the targets that there are: a few at a time, and not again before a multiple of what that took has passed.
 */
import type { Runtime, UpstreamIndex, UpstreamTarget } from "../../runtime/runtime.ts";

export interface TargetSweeperOptions<Item> {
  /** By the target's key. */
  readonly kept: ReadonlyMap<string, Item>;
  /** Takes it out of what is kept. */
  readonly drop: (key: string, item: Item) => void;
}

/** Looked at in one turn of the event loop. */
const BATCH_SIZE = 100;
/** As a multiple of the time that a look at all took: for how long there is no other. */
const PAUSE_FACTOR = 50;

export class TargetSweeper<Item extends { readonly target: UpstreamTarget }> {
  readonly #options: TargetSweeperOptions<Item>;
  #upstreams: UpstreamIndex | null = null;
  /** Whether something has changed since the look that is under way began. */
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

  /** Whether requests may still go there, as far as is known. */
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
    setImmediate(() => this.#look(this.#options.kept.entries(), 0));
  }

  #look(items: Iterator<[string, Item]>, spent: number): void {
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
    setImmediate(() => this.#look(items, took));
  }

  #pause(milliseconds: number): void {
    this.#rest = setTimeout(() => {
      this.#isBusy = false;
      if (this.#isStale) this.#begin();
    }, milliseconds).unref();
  }
}
