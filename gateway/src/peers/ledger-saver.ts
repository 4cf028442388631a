/** Saves the counters of long periods, so that they survive a restart of all nodes of a fleet. */
import { counterId } from "../counters/fleet/accounts.ts";
import type { ReportedCounter, SavedCounter } from "../counters/fleet/messages.ts";
import type { FleetPeer } from "./fleet-peer.ts";

/** Where the counters are kept. */
export interface LedgerStore {
  /** The counters whose windows have not ended. Rejects if they cannot be read. */
  load(): Promise<readonly ReportedCounter[]>;
  /**
   * Replaces these counters, which differ. Rejects if they could not be saved. If several nodes save in one place, what
   * the owner in a view with a higher epoch has saved is not replaced.
   */
  save(counters: readonly SavedCounter[]): Promise<void>;
}

export interface LedgerSaverOptions {
  readonly peer: Pick<FleetPeer, "restore" | "takeUnsaved">;
  readonly store: LedgerStore;
  /** Called when counters cannot be saved, and when they can be saved again. */
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void;
  /** Milliseconds between two attempts to save; default 1000. */
  readonly interval?: number;
}

/** Maximum number of counters that are restored. */
export const MAX_SAVED = 10_000;

/** Maximum number of counters that a node saves in one interval. */
const MAX_SAVED_AT_ONCE = 1000;

/** A save that takes long is followed by a pause of this many times its duration. */
const PAUSE = 10;

export class LedgerSaver {
  readonly #options: LedgerSaverOptions;
  /** What the last attempt could not save. */
  #failed: readonly SavedCounter[] = [];
  #hasFailed = false;
  #working: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(options: LedgerSaverOptions) {
    this.#options = options;
  }

  /** Restores the saved counters, and begins to save. To be called before the node has its first view. */
  static async start(options: LedgerSaverOptions): Promise<LedgerSaver> {
    options.peer.restore(await options.store.load());
    const saver = new LedgerSaver(options);
    saver.#schedule(0);
    return saver;
  }

  /** Saves the last changes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#working;
    for (let saved = 0; saved < MAX_SAVED; saved += MAX_SAVED_AT_ONCE)
      if ((await this.#save()) < MAX_SAVED_AT_ONCE) return;
  }

  #schedule(took: number): void {
    const { interval = 1000 } = this.#options;
    this.#timer = setTimeout(
      () => {
        const began = performance.now();
        this.#working = this.#save().then(() => {
          if (!this.#isClosed) this.#schedule(performance.now() - began);
        });
      },
      Math.max(interval, took * PAUSE),
    ).unref();
  }

  /** Resolves to the number of counters that were saved. */
  async #save(): Promise<number> {
    const { peer, store, warn } = this.#options;
    const unsaved = latestOf([...this.#failed, ...peer.takeUnsaved(MAX_SAVED_AT_ONCE - this.#failed.length)]);
    if (unsaved.length === 0) return 0;
    try {
      await store.save(unsaved);
      this.#failed = [];
      if (this.#hasFailed) warn("the counters of policy fleet are saved again", {});
      this.#hasFailed = false;
      return unsaved.length;
    } catch (error) {
      this.#failed = unsaved;
      const effect = "after a restart of all nodes, requests since now will not count";
      if (!this.#hasFailed) warn(`the counters of policy fleet cannot be saved: ${effect}`, { reason: `${error}` });
      this.#hasFailed = true;
      return 0;
    }
  }
}

/** Each counter once: what has changed since a failure replaces what could not be saved then. */
const latestOf = (counters: readonly SavedCounter[]): readonly SavedCounter[] => [
  ...new Map(counters.map((each) => [counterId(each.counter), each])).values(),
];
