/** Fixed windows, aligned to UTC calendar units, as in Kong. */
import type { Period } from "./counters.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Nominal milliseconds of a window, for response headers. Kong's numbers: a month has 30 days and a year 365, although
 * the windows themselves follow the calendar.
 */
export const nominalLength: Readonly<Record<Period, number>> = {
  second: SECOND,
  minute: MINUTE,
  hour: HOUR,
  day: DAY,
  month: 30 * DAY,
  year: 365 * DAY,
};

/** Unix milliseconds; the end is the start of the next window. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** The window of a period that contains `now` (Unix milliseconds). */
export function windowOf(period: Period, now: number): Window {
  if (period === "month" || period === "year") {
    const date = new Date(now);
    const year = date.getUTCFullYear();
    if (period === "year") return { start: Date.UTC(year, 0), end: Date.UTC(year + 1, 0) };
    const month = date.getUTCMonth();
    return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
  }
  const length = nominalLength[period];
  const start = now - (now % length);
  return { start, end: start + length };
}

/** The windows of one period. The last one is kept, because most requests are in the previous request's window. */
export class PeriodWindows {
  readonly #period: Period;
  #last: Window = { start: 0, end: 0 };

  constructor(period: Period) {
    this.#period = period;
  }

  /** The window that contains `now` (Unix milliseconds). */
  at(now: number): Window {
    const { start, end } = this.#last;
    if (now < start || now >= end) this.#last = windowOf(this.#period, now);
    return this.#last;
  }
}

/** A window, and those before and after it. */
export interface SlidingBounds extends Window {
  readonly previousStart: number;
  readonly nextEnd: number;
}

/** The windows of one period with their neighbours. The last one is kept. */
export class SlidingWindows {
  readonly #period: Period;
  #last: SlidingBounds = { start: 0, end: 0, previousStart: 0, nextEnd: 0 };

  constructor(period: Period) {
    this.#period = period;
  }

  /** The window that contains `now` (Unix milliseconds). */
  at(now: number): SlidingBounds {
    if (now >= this.#last.start && now < this.#last.end) return this.#last;
    const { start, end } = windowOf(this.#period, now);
    const { start: previousStart } = windowOf(this.#period, start - 1);
    this.#last = { start, end, previousStart, nextEnd: windowOf(this.#period, end).end };
    return this.#last;
  }
}

/** The part of the window before that counts at a time: 1 at the start of the window, and 0 at its end. */
export const slidingWeight = ({ start, end }: Window, now: number): number =>
  Math.min(1, Math.max(0, (end - now) / (end - start)));

/** Whole seconds until the window ends by its nominal length, at least 1. */
export function secondsUntilReset(period: Period, { start, now }: { readonly start: number; readonly now: number }) {
  return Math.max(1, nominalLength[period] / SECOND - Math.floor((now - start) / SECOND));
}
