/**
 * Reports problems: logs each at once, and writes each as an Event (shown by `kubectl describe`) with bounded
 * concurrency.
 */
import { type Ref, type ResourceClient, refKey } from "@sluice/crds";
import type { Logger } from "pino";
import { createConcurrencyLimiter } from "../publish/push-limiter.ts";
import type { Problem } from "./conditions.ts";

export interface EventRecorderOptions {
  readonly client: Pick<ResourceClient, "recordEvent">;
  readonly reporter: string;
  readonly log: Pick<Logger, "warn">;
  /** Events written concurrently. Default 4. */
  readonly parallel?: number;
  /** Maximum number of queued Events. Further problems are only logged. Default 1000. */
  readonly limit?: number;
}

export function createEventRecorder({ client, reporter, log, parallel = 4, limit = 1000 }: EventRecorderOptions) {
  const limited = createConcurrencyLimiter(parallel);
  let queued = 0;
  let closed = false;

  return {
    record(ref: Ref, { reason, message }: Pick<Problem, "reason" | "message">) {
      const resource = refKey(ref);
      log.warn({ resource, reason }, message);
      if (queued >= limit) return;
      queued++;
      void limited(async () => {
        queued--;
        if (closed) return;
        try {
          await client.recordEvent(ref, { type: "Warning", reason, message, reporter });
        } catch (error) {
          log.warn({ resource, reason: (error as Error).message }, "cannot write an event");
        }
      });
    },
    /** Discards queued Events. */
    close() {
      closed = true;
    },
  };
}

export type EventRecorder = ReturnType<typeof createEventRecorder>;
