/**
 * Reports problems and news: logs each at once, and writes each as an Event (shown by `kubectl describe`) with bounded
 * concurrency.
 */
import { type Ref, type ResourceClient, ResourceRejected, refKey } from "@sluice/crds";
import type { Logger } from "pino";
import { abortableDelay } from "../abortable-delay.ts";
import { createConcurrencyLimiter } from "../publish/push-limiter.ts";
import type { Problem } from "./conditions.ts";

export interface EventRecorderOptions {
  readonly client: Pick<ResourceClient, "recordEvent">;
  readonly reporter: string;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Maximum number of Events written concurrently. Default 4. */
  readonly parallel?: number;
  /** Maximum number of queued Events. Further problems are only logged. Default 1000. */
  readonly limit?: number;
  /** Waits before another attempt to write an Event. Default: a timer. */
  readonly delay?: typeof abortableDelay;
}

export interface RecordedEvent extends Pick<Problem, "reason" | "message"> {
  /** Default: Warning. */
  readonly type?: "Normal" | "Warning";
}

/** Milliseconds before the second and the third attempt; there is no fourth. */
const PAUSES: readonly number[] = [1000, 5000];

export function createEventRecorder({
  client,
  reporter,
  log,
  parallel = 4,
  limit = 1000,
  delay = abortableDelay,
}: EventRecorderOptions) {
  const limited = createConcurrencyLimiter(parallel);
  const closing = new AbortController();
  const { signal } = closing;
  let queued = 0;

  /** If the API server stored the Event although the attempt failed, the next attempt increments the Event's count. */
  async function write(ref: Ref, { type = "Warning", reason, message }: RecordedEvent): Promise<void> {
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        return await client.recordEvent(ref, { type, reason, message, reporter });
      } catch (error) {
        const pause = PAUSES[attempt];
        if (pause === undefined || error instanceof ResourceRejected) throw error;
        await delay(pause, signal);
      }
    }
  }

  return {
    record(ref: Ref, event: RecordedEvent) {
      const { type, reason, message } = event;
      const resource = refKey(ref);
      log[type === "Normal" ? "info" : "warn"]({ resource, reason }, message);
      if (queued >= limit) return;
      queued++;
      void limited(async () => {
        queued--;
        await write(ref, event).catch((error: Error) =>
          log.warn({ resource, reason: error.message }, "an event could not be recorded"),
        );
      });
    },
    /** Discards queued Events, and Events that wait for another attempt. */
    close() {
      closing.abort();
    },
  };
}

export type EventRecorder = ReturnType<typeof createEventRecorder>;
