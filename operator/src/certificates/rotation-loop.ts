/** Checks certificates repeatedly, and hands them over whenever they have changed. */
import { isDeepStrictEqual } from "node:util";
import { Conflict, rejectOnAbort } from "@sluice/crds";
import type { Logger } from "pino";
import { abortableDelay } from "../abortable-delay.ts";

export interface RotationLoopOptions<Certificate> {
  /** One check: returns the current certificate; null: there is none yet. */
  readonly check: () => Promise<Certificate | null>;
  readonly onCertificate: (certificate: Certificate) => void;
  /** For log lines, such as `the push certificates`. */
  readonly subject: string;
  /** Milliseconds between two checks. */
  readonly interval: number;
  /** Milliseconds until the next check after a failed one, and while there is no certificate. */
  readonly retryInterval: number;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly signal: AbortSignal;
}

/** Runs until the signal aborts; never rejects. */
export async function rotateUntilAborted<Certificate>(options: RotationLoopOptions<Certificate>): Promise<void> {
  const { check, onCertificate, subject, interval, retryInterval, log, signal } = options;
  let last: Certificate | null = null;
  let isSecond = false;
  while (!signal.aborted) {
    let wait = retryInterval;
    try {
      // An API server that does not answer must not delay shutdown.
      const found = await rejectOnAbort(check(), signal);
      if (found !== null && !isDeepStrictEqual(found, last)) {
        onCertificate(found);
        last = found;
        log.info(`loaded ${subject}`);
      }
      if (found !== null) wait = interval;
      isSecond = false;
    } catch (error) {
      // On the first conflict, retry at once: another replica wrote first, and its version is read next. On repeated
      // conflicts, wait first: otherwise calls could follow each other endlessly without a pause.
      if (error instanceof Conflict && !isSecond) wait = 0;
      else if (!signal.aborted) log.warn({ err: error }, `cannot rotate ${subject}`);
      isSecond = error instanceof Conflict;
    }
    await abortableDelay(wait, signal);
  }
}
