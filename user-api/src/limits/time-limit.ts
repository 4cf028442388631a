import { createFailure } from "../errors.ts";

/** Rejects with TIMEOUT when the work exceeds the limit. graphql-js cannot be cancelled: the work itself continues. */
export type TimeLimit = <Result>(work: Promise<Result>) => Promise<Result>;

interface PendingOperation {
  readonly due: number;
  readonly late: () => void;
}

/**
 * One timer for all operations: all have the same limit, so they expire in the order in which they began. A timer for
 * each would cost more than executing a small operation.
 */
export function makeTimeLimit(milliseconds: number): TimeLimit {
  const pending = new Set<PendingOperation>();
  let timer: NodeJS.Timeout | undefined;

  function checkDue(): void {
    timer = undefined;
    const now = performance.now();
    for (const one of pending) {
      if (one.due > now) break;
      pending.delete(one);
      one.late();
    }
    arm();
  }

  function arm(): void {
    const [next] = pending;
    if (next === undefined) return;
    timer = setTimeout(checkDue, Math.max(1, Math.ceil(next.due - performance.now())));
    // Servers and sockets keep the process running; without them no caller waits for the work.
    timer.unref();
  }

  return (work) =>
    new Promise((resolve, reject) => {
      const one: PendingOperation = {
        due: performance.now() + milliseconds,
        late: () => reject(createFailure("TIMEOUT", `The operation took longer than ${milliseconds} ms`)),
      };
      pending.add(one);
      if (timer === undefined) arm();
      work.then(
        (result) => {
          pending.delete(one);
          resolve(result);
        },
        (reason) => {
          pending.delete(one);
          reject(reason);
        },
      );
    });
}
