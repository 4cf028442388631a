/**
 * Runs long work in short slices, each in a turn of the event loop. Translating tens of thousands of resources takes
 * seconds. In one piece, the translation would delay pushes and probes, and delay Lease renewals beyond their deadline.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Work that can be suspended at each `yield`, and its result. */
export type TimeSliced<Result> = Generator<void, Result, void>;

/** Milliseconds of a slice. A slice ends only between two steps: a long step prolongs it. */
const SLICE_MS = 8;

export function runToCompletion<Result>(steps: TimeSliced<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * Runs the work in slices, and resolves to its result. Work shorter than a slice completes synchronously. Rejects with
 * the error that a step throws.
 */
export async function runTimeSliced<Result>(
  steps: TimeSliced<Result>,
  now: () => number = performance.now.bind(performance),
) {
  for (let end = now() + SLICE_MS; ; ) {
    const { done, value } = steps.next();
    if (done) return value as Result;
    if (now() < end) continue;
    await nextTurn();
    end = now() + SLICE_MS;
  }
}
