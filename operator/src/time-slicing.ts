/**
 * Long work in short turns of the event loop. Translating tens of thousands of resources takes seconds: in one piece the
 * Lease would run out meanwhile, and pushes and probes would wait.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Work that may be left for a while at each `yield`, and its result. */
export type TimeSliced<Result> = Generator<void, Result, void>;

/** Milliseconds of a turn, as far as the steps are short. */
const SLICE_MS = 8;

/** Does all of it at once. */
export function runToCompletion<Result>(steps: TimeSliced<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** What takes less than a turn is done in the one in which it is begun. Rejects with what the steps throw. */
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
