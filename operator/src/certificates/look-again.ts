/** Looks at something again and again, whoever changes it. */
import { Conflict, orAborted } from "@sluice/crds";
import type { Logger } from "pino";
import { abortableDelay } from "../abortable-delay.ts";

export interface LookAgainOptions {
  /** @returns Milliseconds until the next look. */
  readonly attempt: () => Promise<number>;
  /** What cannot be done when a look fails, for the log. */
  readonly trouble: string;
  /** Milliseconds until the next look after one that failed. */
  readonly retry: number;
  readonly log: Pick<Logger, "warn">;
  readonly signal: AbortSignal;
}

/** Runs until the signal aborts; never rejects. */
export async function lookAgain({ attempt, trouble, retry, log, signal }: LookAgainOptions): Promise<void> {
  let isSecond = false;
  while (!signal.aborted) {
    let wait = retry;
    try {
      // An API server that does not answer must not hold up an operator that is to end.
      wait = await orAborted(attempt(), signal);
      isSecond = false;
    } catch (error) {
      // Another replica was quicker: what it wrote is read next. Conflicts without end must not become calls without end.
      if (error instanceof Conflict && !isSecond) wait = 0;
      else if (!signal.aborted) log.warn({ err: error }, trouble);
      isSecond = error instanceof Conflict;
    }
    await abortableDelay(wait, signal);
  }
}
