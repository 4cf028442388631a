import type { PluginLog, PluginTimer, PluginTimers } from "@sluice/plugin-sdk";

/** Starts a timer, and returns the function that cancels it. */
export type StartTimer = (
  milliseconds: number,
  options: { readonly repeats: boolean },
  action: () => Promise<void>,
) => () => void;

/** The timer does not keep the process alive. */
const startRealTimer: StartTimer = (milliseconds, { repeats }, action) => {
  const timer = (repeats ? setInterval : setTimeout)(() => void action(), milliseconds).unref();
  return () => clearTimeout(timer);
};

/** Timers that end with a plugin instance. */
export class InstanceTimers implements PluginTimers {
  readonly #log: PluginLog;
  readonly #start: StartTimer;
  readonly #running = new Set<() => void>();
  #hasEnded = false;

  constructor(log: PluginLog, start: StartTimer = startRealTimer) {
    this.#log = log;
    this.#start = start;
  }

  after(milliseconds: number, action: () => void | Promise<void>): PluginTimer {
    const cancel = this.#start(milliseconds, { repeats: false }, () => {
      this.#running.delete(cancel);
      return this.#run(action);
    });
    return this.#keep(cancel);
  }

  every(milliseconds: number, action: () => void | Promise<void>): PluginTimer {
    return this.#keep(this.#start(milliseconds, { repeats: true }, () => this.#run(action)));
  }

  /** Ends all timers. Timers that are started afterwards do not run. */
  end(): void {
    this.#hasEnded = true;
    for (const cancel of this.#running) cancel();
    this.#running.clear();
  }

  #keep(cancel: () => void): PluginTimer {
    if (this.#hasEnded) cancel();
    else this.#running.add(cancel);
    return {
      cancel: () => {
        cancel();
        this.#running.delete(cancel);
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
