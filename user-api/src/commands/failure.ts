/** A start-up failure that an operator can fix; the message explains how. */
export class StartFailure extends Error {}

export const messageOf = (error: unknown): string => {
  // When a name has several addresses, Node puts the reasons into `errors` and leaves the message empty.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
};
