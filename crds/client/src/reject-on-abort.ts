import { addAbortListener } from "node:events";

/**
 * Settles like the call, but rejects with the signal's reason as soon as the signal aborts. An undici request whose
 * connection is still being established reacts to its own signal only seconds later, when the connection attempt is
 * over. Such a request is not sent any more.
 */
export async function rejectOnAbort<Result>(call: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return call;
  const { promise, reject } = Promise.withResolvers<never>();
  using _ = addAbortListener(signal, () => reject(signal.reason));
  return await Promise.race([call, promise]);
}
