/**
 * Long work in short turns of the event loop. Translating tens of thousands of resources takes seconds: in one piece the
 * Lease would run out meanwhile, and pushes and probes would wait.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Work that may be left for a while at each `yield`, and its result. */
export type Steps<Result> = Generator<void, Result, void>;

/** Milliseconds of a turn, as far as the steps are short. */
const TURN = 8;

/** Does all of it at once. */
export function drain<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** What takes less than a turn is done in the one in which it is begun. Rejects with what the steps throw. */
export async function inTurns<Result>(steps: Steps<Result>, now: () => number = performance.now.bind(performance)) {
  for (let end = now() + TURN; ; ) {
    const { done, value } = steps.next();
    if (done) return value as Result;
    if (now() < end) continue;
    await nextTurn();
    end = now() + TURN;
  }
}
