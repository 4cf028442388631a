/** Looks at something again and again, whoever changes it. */
import { Conflict } from "@sluice/crds";
import type { Logger } from "pino";
import { pause } from "../publish/pause.ts";

export interface LookAgainOptions {
  /** @returns Milliseconds until the next look. */
  readonly look: () => Promise<number>;
  /** What cannot be done when a look fails, for the log. */
  readonly trouble: string;
  /** Milliseconds until the next look after one that failed. */
  readonly retry: number;
  readonly log: Pick<Logger, "warn">;
  readonly signal: AbortSignal;
}

/** Runs until the signal aborts; never rejects. */
export async function lookAgain({ look, trouble, retry, log, signal }: LookAgainOptions): Promise<void> {
  while (!signal.aborted) {
    let wait = retry;
    try {
      wait = await look();
    } catch (error) {
      // Another replica was quicker: what it wrote is read next.
      if (error instanceof Conflict) wait = 0;
      else if (!signal.aborted) log.warn({ err: error }, trouble);
    }
    await pause(wait, signal);
  }
}
