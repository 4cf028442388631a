import { setTimeout as pause } from "node:timers/promises";

/** How `waitFor` waits. */
export interface WaitOptions {
  /** The awaited condition, as the end of the sentence "waited 5 s for …". */
  readonly what: string;
  /** Milliseconds until the wait fails. Default 30,000. */
  readonly timeout?: number;
  /**
   * Milliseconds between two checks. Default 20. After a check that took longer, such as a command, the pause is as
   * long as the check was, but at most 250 ms.
   */
  readonly interval?: number;
  /** Ends the wait at once with the signal's reason, for example because the awaited process has died. */
  readonly signal?: AbortSignal;
}

/** Milliseconds between two checks that take long. Without a pause, they would use a whole core. */
const LONGEST_PAUSE = 250;

/**
 * Checks a condition until its value is not false, undefined or null, and resolves to this value.
 *
 * A condition that throws or rejects is checked again; its last error becomes the cause of the timeout error. A check
 * that is pending at the timeout is not awaited.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitOptions,
): Promise<Exclude<Awaited<T>, false | undefined | null>> {
  const { what, timeout = 30_000, interval = 20, signal } = options;
  const end = performance.now() + timeout;
  let cause: unknown;
  const check = async () => {
    try {
      return await condition();
    } catch (error) {
      cause = error;
      return undefined;
    }
  };
  for (;;) {
    const began = performance.now();
    const left = end - began;
    // Read before the check, so that a last check follows the abort: the condition may have become true just before it.
    const given = signal?.aborted;
    const stop = new AbortController();
    const stopped = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
    try {
      const seen = await (given ? check() : Promise.race([check(), over(left, stopped)]));
      if (seen !== false && seen !== undefined && seen !== null) {
        return seen as Exclude<Awaited<T>, false | undefined | null>;
      }
    } finally {
      stop.abort();
    }
    if (given) throw signal?.reason;
    if (performance.now() + interval >= end) {
      const last = cause instanceof Error ? ` (last error: ${cause.message})` : "";
      throw new Error(`waited ${timeout / 1000} s for ${what}${last}`, { cause });
    }
    const now = performance.now();
    await pause(Math.min(Math.max(interval, Math.min(now - began, LONGEST_PAUSE)), end - now));
  }
}

/** Resolves without a value after a time, or rejects with the signal's reason. */
async function over(milliseconds: number, signal: AbortSignal): Promise<undefined> {
  try {
    await pause(Math.max(0, milliseconds), undefined, { signal });
  } catch {
    throw signal.reason;
  }
  return undefined;
}
