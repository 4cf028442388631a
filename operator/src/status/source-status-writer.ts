/** Writes the statuses of resources that are not Sluice's own, such as Ingresses. */
import { type Ref, type Resource, type ResourceClient, refKey } from "@sluice/crds";
import type { Logger } from "pino";
import { createConcurrencyLimiter } from "../publish/push-limiter.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";

export interface SourceStatusWriterOptions {
  readonly client: Pick<ResourceClient, "applyStatus">;
  readonly manager: string;
  readonly gate: Pick<PublishGate, "term">;
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

export function createSourceStatusWriter({ client, manager, gate, log, onFailure }: SourceStatusWriterOptions) {
  const limited = createConcurrencyLimiter(PARALLEL_WRITES);
  const closing = new AbortController();

  async function writeNow({ kind, resource, status, onlyThisVersion }: StatusWrite): Promise<void> {
    const { namespace, name, uid, resourceVersion } = resource.metadata;
    if (closing.signal.aborted || gate.term() === null) return;
    const ref = { kind, namespace, name };
    const { signal } = closing;
    try {
      const expected = { uid, ...(onlyThisVersion && resourceVersion !== undefined && { resourceVersion }) };
      await client.applyStatus(ref, status, { manager, ...expected, signal });
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ resource: refKey(ref), reason: (error as Error).message }, "cannot write status");
      onFailure(ref);
    }
  }

  return {
    write(request: StatusWrite): void {
      void limited(() => writeNow(request));
    },
    close: () => closing.abort(),
  };
}
