/**
 * Writes conditions with bounded concurrency; only the newest conditions of a resource are written. Level-triggered:
 * the caller repeats the conditions that a resource should have, and only differences are written. After a failed
 * write, a resource waits with exponential backoff. Then the writer asks the caller to repeat the conditions, so that
 * none are written for a deleted resource.
 */
import { type Condition, type Ref, type Resource, type ResourceClient, refKey } from "@sluice/crds";
import type { Logger } from "pino";
import type { WorkQueueMetrics } from "../work-metrics.ts";
import { hasConditions } from "./conditions.ts";

export interface StatusWriterOptions {
  readonly client: Pick<ResourceClient, "setConditions">;
  readonly manager: string;
  readonly log: Pick<Logger, "warn">;
  /** Called some time after failed writes, with `refKey`s: the caller repeats the conditions of these resources. */
  readonly onRetry: (keys: readonly string[]) => void;
  readonly onWriteFinished?: () => void;
  readonly onWrite?: (outcome: "written" | "failed") => void;
  readonly work?: WorkQueueMetrics;
  /** Maximum number of concurrent writes. Default PARALLEL_STATUS_WRITES. */
  readonly parallel?: number;
  /**
   * Milliseconds from a resource's first failed write to the next attempt. The delay doubles with each further failure,
   * up to 64 times this value. Default 1000.
   */
  readonly retryInterval?: number;
  readonly now?: () => number;
}

interface QueuedWrite {
  readonly ref: Ref;
  readonly resource: Resource;
  readonly conditions: readonly Condition[];
  readonly serialized: string;
  readonly since: number;
}

export const PARALLEL_STATUS_WRITES = 8;

const MAX_DOUBLINGS = 6;

/** Minimum milliseconds between two calls of `onRetry`, so that one call covers many failed writes. */
const MIN_RETRY_SPACING = 100;

/** Milliseconds that writes in progress may take at shutdown, while another operator waits for leadership. */
const SHUTDOWN_WRITE_TIMEOUT = 500;

/** Milliseconds within which the watch should report a write. */
export const WATCH_ECHO_TIMEOUT = 2000;

export function createStatusWriter(options: StatusWriterOptions) {
  const { client, manager, log, onRetry, onWriteFinished, onWrite, work } = options;
  const { parallel = PARALLEL_STATUS_WRITES, retryInterval = 1000, now = () => performance.now() } = options;
  const queue = new Map<string, QueuedWrite>();
  const busy = new Map<string, QueuedWrite & { readonly done: Promise<void> }>();
  /**
   * Recent writes, the oldest first. A copy of the resource that was read before the write still has the old
   * conditions.
   */
  const written = new Map<string, { readonly serialized: string; readonly at: number }>();
  const failed = new Map<string, { readonly times: number; readonly until: number; asked: boolean }>();
  const ending = new AbortController();
  let retry: { readonly timer: NodeJS.Timeout; readonly at: number } | undefined;
  let failures = 0;
  let closed = false;

  async function write(key: string, { ref, resource, conditions, serialized, since }: QueuedWrite): Promise<void> {
    const began = now();
    work?.started((began - since) / 1000);
    const ended = (result: "success" | "error") => work?.ended((now() - began) / 1000, result);
    try {
      // A copy of the resource that was read before the last write lacks the transition times of that write.
      const read = written.has(key) ? {} : { read: resource };
      await client.setConditions(ref, conditions, { manager, ...read, signal: ending.signal });
      ended("success");
      failed.delete(key);
      written.delete(key);
      written.set(key, { serialized, at: now() });
      onWrite?.("written");
    } catch (error) {
      ended("error");
      onWrite?.("failed");
      if (!closed) recordFailure(key, error as Error);
    }
  }

  /**
   * Logs only the first of the writes that fail before the next retry: while the API server is unavailable, thousands
   * fail.
   */
  function recordFailure(key: string, { message }: Error): void {
    failures++;
    if (failures === 1) log.warn({ resource: key, reason: message }, "cannot write status, trying again");
    const times = (failed.get(key)?.times ?? 0) + 1;
    const until = now() + retryInterval * 2 ** Math.min(times - 1, MAX_DOUBLINGS);
    failed.set(key, { times, until, asked: false });
    work?.retried();
    scheduleRetry(until);
  }

  function scheduleRetry(at: number): void {
    if (retry && retry.at <= at) return;
    clearTimeout(retry?.timer);
    retry = { timer: setTimeout(requestRetries, at - now()).unref(), at };
  }

  function requestRetries(): void {
    retry = undefined;
    if (failures > 1) log.warn({ failures }, "statuses could not be written, trying again");
    failures = 0;
    const due: string[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const [key, one] of failed) {
      // The conditions were not requested within the longest retry delay after the retry was due: the resource counts
      // as deleted.
      if (now() - one.until > retryInterval * 2 ** MAX_DOUBLINGS) failed.delete(key);
      else if (one.until > now()) next = Math.min(next, one.until);
      else if (!one.asked) {
        one.asked = true;
        due.push(key);
      }
    }
    if (next < Number.POSITIVE_INFINITY) scheduleRetry(Math.max(next, now() + MIN_RETRY_SPACING));
    if (due.length > 0) onRetry(due);
  }

  function startWrites(): void {
    for (const [key, wanted] of queue) {
      if (busy.size >= parallel) return;
      if (busy.has(key)) continue;
      queue.delete(key);
      const done = write(key, wanted).finally(() => {
        busy.delete(key);
        startWrites();
        onWriteFinished?.();
      });
      busy.set(key, { ...wanted, done });
    }
  }

  function expireEchoes(): void {
    for (const [key, { at }] of written) {
      if (now() - at < WATCH_ECHO_TIMEOUT) return;
      written.delete(key);
    }
  }

  return {
    /**
     * Requests these conditions for the resource. Returns true when it has them already and no write is in progress:
     * nothing is left to do.
     */
    ensure(ref: Ref, resource: Resource, conditions: readonly Condition[]) {
      if (closed) return false;
      expireEchoes();
      const key = refKey(ref);
      const serialized = JSON.stringify(conditions);
      const isEcho = hasConditions(resource, conditions);
      const last = busy.get(key)?.serialized ?? written.get(key)?.serialized;
      if (last === serialized || (last === undefined && isEcho)) {
        queue.delete(key);
        if (!isEcho || busy.has(key)) return false;
        written.delete(key);
        return true;
      }
      if ((failed.get(key)?.until ?? 0) > now()) return false;
      const since = queue.get(key)?.since ?? now();
      if (!queue.has(key)) work?.added();
      queue.set(key, { ref, resource, conditions, serialized, since });
      startWrites();
      return false;
    },
    queuedCount: () => queue.size,
    /** Number of queued writes and writes in progress. */
    pendingCount: () => queue.size + busy.size,
    /** Discards queued writes: another operator now decides the conditions. */
    cancelQueued: () => queue.clear(),
    /** Waits a moment for the writes in progress and then aborts them; starts no others. */
    async close() {
      closed = true;
      queue.clear();
      clearTimeout(retry?.timer);
      const late = setTimeout(() => ending.abort(), SHUTDOWN_WRITE_TIMEOUT);
      await Promise.all([...busy.values()].map(({ done }) => done));
      clearTimeout(late);
    },
  };
}

export type StatusWriter = ReturnType<typeof createStatusWriter>;
