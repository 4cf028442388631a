/**
 * Writes conditions, a few at a time, newest word per resource. Level-triggered: the caller says in every round what
 * each resource's conditions should be, and only differences are written. After a write that failed it asks for
 * another round, so that a resource that is gone by then is not written to again.
 */
import type { Condition, Ref, Resource, ResourceClient } from "@sluice/crds";
import type { Logger } from "pino";
import { alreadySaid } from "./conditions.ts";

export interface StatusWriterOptions {
  readonly client: ResourceClient;
  readonly manager: string;
  readonly log: Logger;
  /** Called some time after writes that failed: go through all resources again. */
  readonly onRetry: () => void;
  readonly onWrite?: (outcome: "written" | "failed") => void;
  /** Writes under way at once. Default 8. */
  readonly parallel?: number;
  /** Milliseconds until a failed write is tried again. Default 1000. */
  readonly retryInterval?: number;
}

interface Wanted {
  readonly ref: Ref;
  readonly conditions: readonly Condition[];
}

export interface StatusWriter {
  /** What the resource's conditions should be, and the resource as it was read. */
  want(ref: Ref, resource: Resource, conditions: readonly Condition[]): void;
  close(): Promise<void>;
}

/** Milliseconds in which the watch should have brought back what was written. */
const ECHO = 2000;

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, manager, log, onRetry, onWrite, parallel = 8, retryInterval = 1000 } = options;
  const queue = new Map<string, Wanted>();
  const busy = new Map<string, Promise<void>>();
  /** What was written a moment ago: a copy read before it must not cause the same write again. */
  const written = new Map<string, { readonly said: string; readonly at: number }>();
  let retry: NodeJS.Timeout | undefined;

  async function write(key: string, { ref, conditions }: Wanted): Promise<void> {
    try {
      await client.setConditions(ref, conditions, { manager });
      written.set(key, { said: JSON.stringify(conditions), at: Date.now() });
      onWrite?.("written");
    } catch (error) {
      onWrite?.("failed");
      log.warn({ resource: key, reason: (error as Error).message }, "cannot write status, trying again");
      clearTimeout(retry);
      retry = setTimeout(onRetry, retryInterval).unref();
    }
  }

  function pump(): void {
    for (const [key, wanted] of queue) {
      if (busy.size >= parallel) return;
      if (busy.has(key)) continue;
      queue.delete(key);
      busy.set(
        key,
        write(key, wanted).finally(() => {
          busy.delete(key);
          pump();
        }),
      );
    }
  }

  return {
    want(ref, resource, conditions) {
      const key = `${ref.kind}/${ref.namespace}/${ref.name}`;
      if (alreadySaid(resource, conditions)) {
        queue.delete(key);
        written.delete(key);
        return;
      }
      const last = written.get(key);
      if (last && Date.now() - last.at < ECHO && last.said === JSON.stringify(conditions)) return;
      queue.set(key, { ref, conditions });
      pump();
    },
    async close() {
      queue.clear();
      clearTimeout(retry);
      await Promise.all(busy.values());
    },
  };
}
