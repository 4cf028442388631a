/**
 * Writes the gateway's addresses into the status of each Ingress once every ready node serves it, and records its
 * problems as Events. An Ingress has no conditions: other controllers, such as external-dns, read the addresses.
 */
import { isDeepStrictEqual } from "node:util";
import { type Resource, type ResourceClient, resourceKey } from "@sluice/crds";
import type { Logger } from "pino";
import type { DeriveStage } from "../derive/derive-stage.ts";
import type { TranslateStage } from "../document/translate-stage.ts";
import type { PublishStage } from "../publish/publish-stage.ts";
import { createConcurrencyLimiter } from "../publish/push-limiter.ts";
import type { PublishGate } from "../saved-state/publish-gate.ts";
import type { OperatorSettings } from "../settings.ts";
import type { EventRecorder } from "./event-recorder.ts";
import { gatewayAddresses } from "./gateway-addresses.ts";

export interface IngressStatusOptions {
  readonly derive: Pick<DeriveStage, "clusterState" | "changes" | "ingresses" | "problemsOf">;
  readonly translate: Pick<TranslateStage, "upToDate">;
  readonly publish: Pick<PublishStage, "progress" | "publisher">;
  readonly gate: Pick<PublishGate, "term" | "terms">;
  readonly client: Pick<ResourceClient, "applyStatus">;
  readonly manager: string;
  readonly events: EventRecorder;
  readonly settings: Pick<OperatorSettings, "publishService" | "publishAddresses">;
  readonly log: Pick<Logger, "warn">;
}

const PARALLEL_WRITES = 4;
/** Milliseconds between syncs of Ingresses whose status could not be written. */
const RESYNC_INTERVAL = 5000;

export function createIngressStatus(options: IngressStatusOptions) {
  const { derive, translate, publish, gate, client, manager, events, settings, log } = options;
  const { clusterState, ingresses } = derive;
  const { publisher } = publish;
  const limited = createConcurrencyLimiter(PARALLEL_WRITES);
  const closing = new AbortController();
  /**
   * The Ingresses (`namespace/name`) whose status may have to be written, with the revision that has them; null: it is
   * not known yet.
   */
  const unsettled = new Map<string, number | null>();
  /** The messages of the recorded problems of each Ingress. */
  const recorded = new Map<string, ReadonlySet<string>>();
  const resync = setInterval(sync, RESYNC_INTERVAL).unref();

  derive.changes.subscribe(({ resources }) => {
    for (const { kind, key } of resources) {
      if (kind === "Ingress") unsettled.set(key, null);
      if (kind === "CoreService" && key === settings.publishService) markAll();
    }
    sync();
  });
  publish.progress.subscribe(sync);
  gate.terms.subscribe((term) => {
    if (term === null) return;
    markAll();
    sync();
  });

  function markAll(): void {
    for (const key of ingresses.keys()) unsettled.set(key, null);
  }

  function sync(): void {
    if (closing.signal.aborted || gate.term() === null || unsettled.size === 0) return;
    const addresses = gatewayAddresses(settings, clusterState.CoreService);
    for (const [key, known] of unsettled) {
      const revision = known ?? revisionNow();
      if (revision === null) continue;
      if (known === null) recordProblems(key);
      unsettled.set(key, revision);
      if (!publisher.acknowledgement(revision).programmed) continue;
      unsettled.delete(key);
      const ingress = ingresses.get(key);
      // A load balancer may have no address for a moment.
      if (ingress && addresses?.length && !isDeepStrictEqual(addressesOf(ingress), addresses)) {
        void limited(() => write(ingress, addresses));
      }
    }
  }

  /** The revision that has all Ingresses; null: a change was not translated yet. */
  const revisionNow = (): number | null => (translate.upToDate() ? publisher.revision() : null);

  function recordProblems(key: string): void {
    const ingress = ingresses.get(key);
    const known = recorded.get(key);
    const problems = derive.problemsOf(key);
    if (problems.length === 0) recorded.delete(key);
    else recorded.set(key, new Set(problems.map(({ message }) => message)));
    if (!ingress) return;
    const { namespace, name } = ingress.metadata;
    for (const problem of problems)
      if (!known?.has(problem.message)) events.record({ kind: "Ingress", namespace, name }, problem);
  }

  async function write(ingress: Resource, addresses: readonly object[]): Promise<void> {
    const { namespace, name, uid } = ingress.metadata;
    if (closing.signal.aborted || gate.term() === null) return;
    try {
      const status = { loadBalancer: { ingress: addresses } };
      const { signal } = closing;
      await client.applyStatus({ kind: "Ingress", namespace, name }, status, { manager, uid, signal });
    } catch (error) {
      if (closing.signal.aborted) return;
      log.warn({ resource: `Ingress/${namespace}/${name}`, reason: (error as Error).message }, "cannot write status");
      unsettled.set(resourceKey(ingress), null);
    }
  }

  return {
    close() {
      closing.abort();
      clearInterval(resync);
    },
  };
}

const addressesOf = ({ status }: Resource): unknown =>
  (status?.loadBalancer as { readonly ingress?: unknown } | undefined)?.ingress ?? [];
