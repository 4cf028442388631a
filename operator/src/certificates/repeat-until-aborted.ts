/** Repeats a check, with the delay that the check returns. */
import { Conflict, rejectOnAbort } from "@sluice/crds";
import type { Logger } from "pino";
import { abortableDelay } from "../abortable-delay.ts";

export interface RepeatOptions {
  /** @returns Milliseconds until the next attempt. */
  readonly attempt: () => Promise<number>;
  /** Log message for a failed attempt. */
  readonly failureMessage: string;
  /** Milliseconds until the next attempt after a failed one. */
  readonly retryInterval: number;
  readonly log: Pick<Logger, "warn">;
  readonly signal: AbortSignal;
}

/** Runs until the signal aborts; never rejects. */
export async function repeatUntilAborted({
  attempt,
  failureMessage,
  retryInterval,
  log,
  signal,
}: RepeatOptions): Promise<void> {
  let isSecond = false;
  while (!signal.aborted) {
    let wait = retryInterval;
    try {
      // An API server that does not answer must not delay shutdown.
      wait = await rejectOnAbort(attempt(), signal);
      isSecond = false;
    } catch (error) {
      // On the first conflict, retry at once: another replica wrote first, and its version is read next. Repeated
      // conflicts wait, so that they do not become endless calls.
      if (error instanceof Conflict && !isSecond) wait = 0;
      else if (!signal.aborted) log.warn({ err: error }, failureMessage);
      isSecond = error instanceof Conflict;
    }
    await abortableDelay(wait, signal);
  }
}
