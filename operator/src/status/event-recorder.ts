/** Reports problems: a log line at once, and an Event, shown by `kubectl describe`, with bounded concurrency. */
import type { Ref, ResourceClient } from "@sluice/crds";
import type { Logger } from "pino";
import type { Problem } from "./conditions.ts";

export interface EventRecorderOptions {
  readonly client: Pick<ResourceClient, "recordEvent">;
  /** The reporting component of the Events. */
  readonly reporter: string;
  readonly log: Pick<Logger, "warn">;
  /** Events written concurrently. Default 4. */
  readonly parallel?: number;
  /** Maximum number of queued Events. Further problems are only logged. Default 1000. */
  readonly limit?: number;
}

export function createEventRecorder({ client, reporter, log, parallel = 4, limit = 1000 }: EventRecorderOptions) {
  const queue: (() => Promise<void>)[] = [];
  let running = 0;

  async function run(next: () => Promise<void>): Promise<void> {
    running++;
    try {
      await next();
    } finally {
      running--;
      pump();
    }
  }

  function pump(): void {
    while (running < parallel) {
      const next = queue.shift();
      if (!next) return;
      void run(next);
    }
  }

  return {
    record(ref: Ref, { reason, message }: Pick<Problem, "reason" | "message">) {
      const resource = `${ref.kind}/${ref.namespace}/${ref.name}`;
      log.warn({ resource, reason }, message);
      if (queue.length >= limit) return;
      queue.push(async () => {
        try {
          await client.recordEvent(ref, { type: "Warning", reason, message, reporter });
        } catch (error) {
          log.warn({ resource, reason: (error as Error).message }, "cannot write an event");
        }
      });
      pump();
    },
    /** Discards queued Events. */
    close() {
      queue.length = 0;
    },
  };
}

export type EventRecorder = ReturnType<typeof createEventRecorder>;
