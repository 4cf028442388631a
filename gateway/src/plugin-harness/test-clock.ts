/** The clock of a test: it stands still until the test advances it. */
import type { StartTimer } from "../plugin-services/instance-timers.ts";

interface RunningTimer {
  /** Unix milliseconds at which the timer runs. */
  due: number;
  readonly interval: number | null;
  readonly action: () => Promise<void>;
  readonly cancel: () => void;
}

export class TestClock {
  #time: number;
  readonly #timers = new Set<RunningTimer>();

  /** @param start Unix milliseconds. */
  constructor(start: number) {
    this.#time = start;
  }

  readonly now = (): number => this.#time;

  /** Starts a timer that also runs in real time, because a test may wait for it instead of advancing the clock. */
  readonly startTimer: StartTimer = (milliseconds, { repeats }, action) => {
    const end = () => {
      this.#timers.delete(timer);
      clearTimeout(real);
    };
    const run = () => {
      if (!repeats) this.#timers.delete(timer);
      void action();
    };
    const real = (repeats ? setInterval(run, milliseconds) : setTimeout(run, milliseconds)).unref();
    const interval = repeats ? Math.max(1, milliseconds) : null;
    const timer: RunningTimer = { due: this.#time + milliseconds, interval, action, cancel: end };
    this.#timers.add(timer);
    return end;
  };

  /**
   * Advances the clock, and runs the timers in the order in which they become due. Resolves when their actions have
   * ended.
   */
  async advance(milliseconds: number): Promise<void> {
    const until = this.#time + milliseconds;
    const actions: Promise<void>[] = [];
    for (let next = this.#nextUntil(until); next !== undefined; next = this.#nextUntil(until)) {
      this.#time = Math.max(this.#time, next.due);
      if (next.interval === null) next.cancel();
      else next.due += next.interval;
      actions.push(next.action());
    }
    this.#time = until;
    await Promise.all(actions);
  }

  #nextUntil(until: number): RunningTimer | undefined {
    const due = [...this.#timers].filter((timer) => timer.due <= until);
    return due.toSorted((one, other) => one.due - other.due)[0];
  }
}
