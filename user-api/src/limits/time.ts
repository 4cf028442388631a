/** The time that an operation may take. */
import { failure } from "../errors.ts";

/** Rejects with TIMEOUT when the work takes longer. graphql-js cannot be stopped: what it has begun goes on. */
export type InTime = <Result>(work: Promise<Result>) => Promise<Result>;

interface UnderWay {
  readonly due: number;
  /** Undefined once the work has ended. */
  late: (() => void) | undefined;
}

/**
 * One timer for all operations: all have the same time, so that they are due in the order in which they began. A timer
 * of its own for each costs more than executing a small one.
 */
export function makeInTime(milliseconds: number): InTime {
  const underWay: UnderWay[] = [];
  /** Of the first that may still be under way. */
  let first = 0;
  let timer: NodeJS.Timeout | undefined;

  function dropEnded(): void {
    while (first < underWay.length && underWay[first]?.late === undefined) first += 1;
    // Rarely, so that the list is not moved by one for each operation.
    if (first < 64 && first < underWay.length) return;
    underWay.splice(0, first);
    first = 0;
  }

  function look(): void {
    timer = undefined;
    const now = performance.now();
    for (const one of underWay.slice(first)) {
      if (one.due > now) break;
      one.late?.();
      one.late = undefined;
    }
    dropEnded();
    arm();
  }

  function arm(): void {
    const next = underWay[first];
    if (timer !== undefined || next === undefined) return;
    timer = setTimeout(look, Math.max(1, Math.ceil(next.due - performance.now())));
    // Servers and sockets keep a process running; what is under way without them has nobody who waits.
    timer.unref();
  }

  return (work) =>
    new Promise((resolve, reject) => {
      const one: UnderWay = {
        due: performance.now() + milliseconds,
        late: () => reject(failure("TIMEOUT", `The operation took longer than ${milliseconds} ms`)),
      };
      underWay.push(one);
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
