/**
 * Writes the gateway's addresses into the status of each Ingress once every ready node serves it, and records its
 * problems as Events. An Ingress has no conditions: other controllers, such as external-dns, read the addresses.
 */
import { isDeepStrictEqual } from "node:util";
import { namespacedName, type Resource, type ResourceClient } from "@sluice/crds";
import type { Logger } from "pino";
import type { DeriveStage } from "../derive/derive-stage.ts";
import { gatewayAddresses } from "../derive/gateway-addresses.ts";
import type { OperatorMetrics } from "../metrics.ts";
import type { OperatorSettings } from "../settings.ts";
import type { EventRecorder } from "./event-recorder.ts";
import { createSourceStatusWriter } from "./source-status-writer.ts";
import { createSourceSync, type SourceSyncOptions } from "./source-sync.ts";

export interface IngressStatusOptions extends Pick<SourceSyncOptions, "translate" | "publish" | "gate"> {
  readonly derive: Pick<DeriveStage, "clusterState" | "changes" | "ingress">;
  readonly client: Pick<ResourceClient, "applyStatus">;
  readonly manager: string;
  readonly events: EventRecorder;
  readonly settings: Pick<OperatorSettings, "publishService" | "publishAddresses">;
  readonly metrics: Pick<OperatorMetrics, "wroteStatus">;
  readonly log: Pick<Logger, "warn">;
}

export function createIngressStatus(options: IngressStatusOptions) {
  const { derive, translate, publish, gate, client, manager, events, settings, metrics, log } = options;
  const { clusterState } = derive;
  const { ingresses, problemsOf } = derive.ingress;
  /** The messages of the recorded problems of each Ingress. */
  const recorded = new Map<string, ReadonlySet<string>>();
  const sync = createSourceSync({
    translate,
    publish,
    gate,
    all: () => ingresses.keys(),
    onTranslated: recordProblems,
    onProgrammed: writeAddresses,
  });
  const writer = createSourceStatusWriter({
    client,
    manager,
    gate,
    metrics,
    log,
    onFailure: ({ namespace, name }) => sync.mark([namespacedName(namespace, name)]),
  });

  derive.changes.subscribe(({ resources }) => {
    for (const { kind, key } of resources) {
      if (kind === "Ingress") sync.mark([key]);
      if (kind === "CoreService" && key === settings.publishService) sync.mark(ingresses.keys());
    }
    sync.sync();
  });

  function recordProblems(key: string): void {
    const ingress = ingresses.get(key);
    const known = recorded.get(key);
    const problems = problemsOf(key);
    if (problems.length === 0) recorded.delete(key);
    else recorded.set(key, new Set(problems.map(({ message }) => message)));
    if (!ingress) return;
    const { namespace, name } = ingress.metadata;
    for (const problem of problems)
      if (!known?.has(problem.message)) events.record({ kind: "Ingress", namespace, name }, problem);
  }

  function writeAddresses(key: string): void {
    const ingress = ingresses.get(key);
    const addresses = gatewayAddresses(settings, clusterState.CoreService);
    // A load balancer may have no address for a moment.
    if (!ingress || !addresses?.length || isDeepStrictEqual(addressesOf(ingress), addresses)) return;
    writer.write({ kind: "Ingress", resource: ingress, status: { loadBalancer: { ingress: addresses } } });
  }

  return {
    close() {
      writer.close();
      sync.close();
    },
  };
}

const addressesOf = ({ status }: Resource): unknown =>
  (status?.loadBalancer as { readonly ingress?: unknown } | undefined)?.ingress ?? [];
