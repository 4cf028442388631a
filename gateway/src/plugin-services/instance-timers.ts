import type { PluginLog, PluginTimer, PluginTimers } from "@sluice/plugin-sdk";

/** Timers that end with a plugin instance. */
export class InstanceTimers implements PluginTimers {
  readonly #log: PluginLog;
  readonly #running = new Set<NodeJS.Timeout>();
  #hasEnded = false;

  constructor(log: PluginLog) {
    this.#log = log;
  }

  after(milliseconds: number, action: () => void | Promise<void>): PluginTimer {
    const timer = setTimeout(() => {
      this.#running.delete(timer);
      void this.#run(action);
    }, milliseconds);
    return this.#keep(timer);
  }

  every(milliseconds: number, action: () => void | Promise<void>): PluginTimer {
    return this.#keep(setInterval(() => void this.#run(action), milliseconds));
  }

  /** Ends all timers; later ones do not run. */
  end(): void {
    this.#hasEnded = true;
    for (const timer of this.#running) clearTimeout(timer);
    this.#running.clear();
  }

  /** The timer does not keep the process alive. */
  #keep(timer: NodeJS.Timeout): PluginTimer {
    timer.unref();
    if (this.#hasEnded) clearTimeout(timer);
    else this.#running.add(timer);
    return {
      cancel: () => {
        clearTimeout(timer);
        this.#running.delete(timer);
      },
    };
  }

  async #run(action: () => void | Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#log.error("a timer of the plugin failed", { err: error });
    }
  }
}
