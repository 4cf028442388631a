import { rejectOnAbort } from "@sluice/crds";

/** Resolves after this many milliseconds, or when the signal aborts. Never rejects. */
export async function abortableDelay(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await rejectOnAbort(promise, signal).catch(() => {});
  clearTimeout(timer);
}
