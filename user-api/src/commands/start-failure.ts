/** Failures before the process serves, and their messages. */

/** A start-up failure that an administrator can fix; the message says what is wrong. */
export class StartFailure extends Error {}

export const messageOf = (error: unknown): string => {
  // If the connections to all addresses of a host fail, Node puts the reasons into `errors`, and the message is empty.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
};
