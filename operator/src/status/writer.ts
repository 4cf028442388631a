/**
 * Writes conditions, a few at a time, newest word per resource. Level-triggered: the caller says again and again what
 * a resource's conditions should be, and only differences are written. After writes that failed it asks to be told
 * again, so that a resource that is gone by then is not written to.
 */
import type { Condition, Ref, Resource, ResourceClient } from "@sluice/crds";
import type { Logger } from "pino";
import { alreadySaid } from "./conditions.ts";

export interface StatusWriterOptions {
  readonly client: Pick<ResourceClient, "setConditions">;
  readonly manager: string;
  readonly log: Pick<Logger, "warn">;
  /** Called some time after writes that failed: say again what the conditions should be. */
  readonly onRetry: () => void;
  readonly onWrite?: (outcome: "written" | "failed") => void;
  /** Writes under way at once. Default 8. */
  readonly parallel?: number;
  /** Milliseconds from the last failed write to the retry. Default 1000. */
  readonly retryInterval?: number;
  readonly now?: () => number;
}

interface Wanted {
  readonly ref: Ref;
  readonly resource: Resource;
  readonly conditions: readonly Condition[];
  /** The conditions as one text. */
  readonly said: string;
}

export interface StatusWriter {
  /**
   * What the resource's conditions should be, and the resource as it was read. True when it says so already and no
   * write is under way: there is nothing left to do.
   */
  want(ref: Ref, resource: Resource, conditions: readonly Condition[]): boolean;
  /** Waits for the writes that are under way; others are not begun. */
  close(): Promise<void>;
}

/** Milliseconds in which the watch should have brought back what was written. */
export const ECHO = 2000;

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, manager, log, onRetry, onWrite, parallel = 8, retryInterval = 1000, now = Date.now } = options;
  const queue = new Map<string, Wanted>();
  const busy = new Map<string, Wanted & { readonly done: Promise<void> }>();
  /** What was written a moment ago, the oldest first: a copy read before it says something else. */
  const written = new Map<string, { readonly said: string; readonly at: number }>();
  let retry: NodeJS.Timeout | undefined;
  let failures = 0;
  let closed = false;

  async function write(key: string, { ref, resource, conditions, said }: Wanted): Promise<void> {
    try {
      // A copy that was read before the last write knows nothing of when conditions became what they are.
      const read = written.has(key) ? {} : { read: resource };
      await client.setConditions(ref, conditions, { manager, ...read });
      written.delete(key);
      written.set(key, { said, at: now() });
      onWrite?.("written");
    } catch (error) {
      onWrite?.("failed");
      if (!closed) fail(key, error as Error);
    }
  }

  /** One line for all writes that fail until the retry: an API server that is away fails thousands. */
  function fail(key: string, { message }: Error): void {
    failures++;
    if (failures === 1) log.warn({ resource: key, reason: message }, "cannot write status, trying again");
    clearTimeout(retry);
    retry = setTimeout(() => {
      if (failures > 1) log.warn({ failures }, "statuses could not be written, trying again");
      failures = 0;
      onRetry();
    }, retryInterval).unref();
  }

  function pump(): void {
    for (const [key, wanted] of queue) {
      if (busy.size >= parallel) return;
      if (busy.has(key)) continue;
      queue.delete(key);
      const done = write(key, wanted).finally(() => {
        busy.delete(key);
        pump();
      });
      busy.set(key, { ...wanted, done });
    }
  }

  function forgetEchoes(): void {
    for (const [key, { at }] of written) {
      if (now() - at < ECHO) return;
      written.delete(key);
    }
  }

  return {
    want(ref, resource, conditions) {
      if (closed) return false;
      forgetEchoes();
      const key = `${ref.kind}/${ref.namespace}/${ref.name}`;
      const said = JSON.stringify(conditions);
      const isEcho = alreadySaid(resource, conditions);
      const last = busy.get(key)?.said ?? written.get(key)?.said;
      if (last === said || (last === undefined && isEcho)) {
        queue.delete(key);
        if (!isEcho || busy.has(key)) return false;
        written.delete(key);
        return true;
      }
      queue.set(key, { ref, resource, conditions, said });
      pump();
      return false;
    },
    async close() {
      closed = true;
      queue.clear();
      clearTimeout(retry);
      await Promise.all([...busy.values()].map(({ done }) => done));
    },
  };
}
