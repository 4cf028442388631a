/** Waits so many milliseconds, or less when the signal aborts. Never rejects. */
import { setTimeout as wait } from "node:timers/promises";

export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await wait(milliseconds, undefined, { signal });
  } catch {
    // An abort ends the pause early, which is all that the caller wants of it.
  }
}
