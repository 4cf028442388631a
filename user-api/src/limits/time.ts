/** The time that an operation may take. */
import { failure } from "../errors.ts";

/** Rejects with TIMEOUT when the work takes longer. graphql-js cannot be stopped: what it has begun goes on. */
export async function inTime<Result>(work: Promise<Result>, milliseconds: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(failure("TIMEOUT", `The operation took longer than ${milliseconds} ms`));
    }, milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
