/** The time limit of operations. */
import { failure } from "../errors.ts";

/** Rejects with TIMEOUT when the work takes longer. graphql-js cannot be cancelled: the work itself continues. */
export type TimeLimit = <Result>(work: Promise<Result>) => Promise<Result>;

interface PendingOperation {
  readonly due: number;
  /** Undefined once the work has ended. */
  late: (() => void) | undefined;
}

/**
 * One timer for all operations: all have the same limit, so they expire in the order in which they began. A timer for
 * each would cost more than executing a small operation.
 */
export function makeTimeLimit(milliseconds: number): TimeLimit {
  const pending: PendingOperation[] = [];
  /** Index of the first entry that may still be pending. */
  let first = 0;
  let timer: NodeJS.Timeout | undefined;

  function dropEnded(): void {
    while (first < pending.length && pending[first]?.late === undefined) first += 1;
    // Only now and then, so that the list is not shifted for each operation.
    if (first < 64 && first < pending.length) return;
    pending.splice(0, first);
    first = 0;
  }

  function checkDue(): void {
    timer = undefined;
    const now = performance.now();
    for (const one of pending.slice(first)) {
      if (one.due > now) break;
      one.late?.();
      one.late = undefined;
    }
    dropEnded();
    arm();
  }

  function arm(): void {
    const next = pending[first];
    if (timer !== undefined || next === undefined) return;
    timer = setTimeout(checkDue, Math.max(1, Math.ceil(next.due - performance.now())));
    // Servers and sockets keep the process running; without them no caller waits for the work.
    timer.unref();
  }

  return (work) =>
    new Promise((resolve, reject) => {
      const one: PendingOperation = {
        due: performance.now() + milliseconds,
        late: () => reject(failure("TIMEOUT", `The operation took longer than ${milliseconds} ms`)),
      };
      pending.push(one);
      arm();
      const end = (): void => {
        one.late = undefined;
        dropEnded();
      };
      work.then(
        (result) => {
          end();
          resolve(result);
        },
        (reason) => {
          end();
          reject(reason);
        },
      );
    });
}
