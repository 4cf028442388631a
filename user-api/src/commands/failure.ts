/** A reason to end that an operator can mend; its message says how. */
export class StartFailure extends Error {}

export const wordsOf = (error: unknown): string => {
  // A refused connection to a name with several addresses has its reasons inside and no message of its own.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(wordsOf).join("; ");
  return error instanceof Error ? error.message : String(error);
};
