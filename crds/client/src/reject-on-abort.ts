/**
 * The call's outcome, or the signal's reason as soon as it aborts. For undici requests: one whose connection is still
 * being established reacts to its own signal only seconds later, when that is over; it is not sent then.
 */
export async function rejectOnAbort<Result>(call: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return call;
  const { promise, reject } = Promise.withResolvers<never>();
  const end = () => reject(signal.reason);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return await Promise.race([call, promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}
