/** Writes the statuses of resources that are not Sluice's own, such as Ingresses. */
import { type Ref, type Resource, type ResourceClient, refKey } from "@sluice/crds";
import type { Logger } from "pino";
import type { OperatorMetrics } from "../metrics.ts";
import { createConcurrencyLimiter } from "../publish/push-limiter.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";

export interface SourceStatusWriterOptions {
  readonly client: Pick<ResourceClient, "applyStatus">;
  readonly manager: string;
  readonly gate: Pick<PublishGate, "term">;
  readonly metrics: Pick<OperatorMetrics, "wroteStatus">;
  readonly log: Pick<Logger, "warn">;
  /** Called when a status could not be written. */
  readonly onFailure: (ref: Ref) => void;
}

export interface StatusWrite {
  readonly kind: Ref["kind"];
  readonly resource: Resource;
  readonly status: Resource["status"];
  /** Whether the write must not replace a status that another controller has written meanwhile. */
  readonly onlyThisVersion?: boolean;
}

const PARALLEL_WRITES = 4;

export function createSourceStatusWriter(options: SourceStatusWriterOptions) {
  const { client, manager, gate, metrics, log, onFailure } = options;
  const limited = createConcurrencyLimiter(PARALLEL_WRITES);
  const closing = new AbortController();

  /** The next write of each resource whose last write has not ended. */
  const next = new Map<string, StatusWrite | undefined>();

  /** Writes of one resource run one after the other; only the last of those that wait is done. */
  async function writeAll(key: string): Promise<void> {
    for (let request = next.get(key); request; request = next.get(key)) {
      next.set(key, undefined);
      await writeNow(request);
    }
    next.delete(key);
  }

  async function writeNow({ kind, resource, status, onlyThisVersion }: StatusWrite): Promise<void> {
    const { namespace, name, uid, resourceVersion } = resource.metadata;
    if (closing.signal.aborted || gate.term() === null) return;
    const ref = { kind, namespace, name };
    const { signal } = closing;
    try {
      const expected = { uid, ...(onlyThisVersion && resourceVersion !== undefined && { resourceVersion }) };
      await client.applyStatus(ref, status, { manager, ...expected, signal });
      metrics.wroteStatus("written");
    } catch (error) {
      if (signal.aborted) return;
      metrics.wroteStatus("failed");
      log.warn({ resource: refKey(ref), reason: (error as Error).message }, "cannot write status");
      onFailure(ref);
    }
  }

  return {
    write(request: StatusWrite): void {
      const key = refKey({ kind: request.kind, ...request.resource.metadata });
      const isRunning = next.has(key);
      next.set(key, request);
      if (!isRunning) void limited(() => writeAll(key));
    },
    close: () => closing.abort(),
  };
}
