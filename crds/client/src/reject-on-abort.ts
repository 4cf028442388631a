/**
 * The call's outcome, or the signal's reason as soon as it aborts. For calls by undici: one whose connection is still
 * being made hears of its own signal only when that is over, after seconds; it is not sent then.
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
