import { rejectOnAbort } from "@sluice/crds";

/** Resolves after this many milliseconds, or when the signal aborts. Never rejects. */
export async function abortableDelay(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await rejectOnAbort(promise, signal).catch(() => {});
  clearTimeout(timer);
}

/** Milliseconds. Another operator waits for leadership during this time. */
const LAST_WRITE_TIMEOUT = 500;

/** Waits until the last write of a stopping operator has ended or takes too long. Rejects if the write fails. */
export async function awaitLastWrite(write: Promise<void>): Promise<void> {
  const late = new AbortController();
  try {
    await Promise.race([write, abortableDelay(LAST_WRITE_TIMEOUT, late.signal)]);
  } finally {
    late.abort();
  }
}
