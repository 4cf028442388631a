/** The time limit of operations. */
import { failure } from "../errors.ts";

/** Rejects with TIMEOUT when the work takes longer. graphql-js cannot be cancelled: the work itself continues. */
export type TimeLimit = <Result>(work: Promise<Result>) => Promise<Result>;

export function makeTimeLimit(milliseconds: number): TimeLimit {
  return (work) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(failure("TIMEOUT", `The operation took longer than ${milliseconds} ms`));
      }, milliseconds);
      // Servers and sockets keep the process running; without them no caller waits for the work.
      timer.unref();
      work.then(
        (result) => {
          clearTimeout(timer);
          resolve(result);
        },
        (reason) => {
          clearTimeout(timer);
          reject(reason);
        },
      );
    });
}
