import { addAbortListener } from "node:events";

/**
 * The call's outcome, or the signal's reason as soon as the signal aborts. An undici request whose connection is still
 * being established reacts to its own signal only seconds later, when the connection attempt is over. An aborted
 * request is not sent.
 */
export async function rejectOnAbort<Result>(call: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return call;
  const { promise, reject } = Promise.withResolvers<never>();
  using _ = addAbortListener(signal, () => reject(signal.reason));
  return await Promise.race([call, promise]);
}
