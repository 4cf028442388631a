/**
 * Second stage: derives Sluice resources from Ingresses and from resources of the Gateway API, and
 * adds them to the cluster state. The next stages treat derived resources like those of the cluster.
 */
import { isDeepStrictEqual } from "node:util";
import { type DerivedResource, type Ref, type Resource, type ResourceClient, sourceOf } from "@sluice/crds";
import { BucketMap, hashOfText } from "@sluice/model";
import type { Logger } from "pino";
import { createEmitter, type Output } from "../emitter.ts";
import type { OperatorSettings } from "../settings.ts";
import { type ClusterState, watchedKinds } from "../watch/cluster-state.ts";
import type { ClusterChange, WatchStage } from "../watch/watch-stage.ts";
import { type DerivedChanges, type DerivedKind, derivedKinds, isDerivedKind, recordChange } from "./deriver.ts";
import { createGatewayDeriver, type GatewayDeriver } from "./gateway/gateway-deriver.ts";
import type { GatewayNetwork } from "./gateway/gateway-network.ts";
import { createIngressDeriver, type IngressDeriver } from "./ingress/ingress-deriver.ts";
import { createPluginAttachments } from "./plugin-attachments.ts";

export interface DeriveStage {
  /** The cluster state with the derived resources. */
  readonly clusterState: ClusterState;
  /** The changes of the watch stage, with those of the derived resources. */
  readonly changes: Output<ClusterChange>;
  readonly ingress: Pick<IngressDeriver, "ingresses" | "problemsOf">;
  readonly gateway: Pick<
    GatewayDeriver,
    | "gatewayClasses"
    | "gatewayClassFault"
    | "gateways"
    | "listenerSets"
    | "routes"
    | "attachedRoutes"
    | "listeners"
    | "backendTls"
  >;
  /** The resources from which a derived resource was made; empty for other resources. */
  sourcesOf(owner: Ref): readonly Ref[];
  /** At the start, the objects that Ingresses, Gateways and policies name and whose first read has not ended. */
  unsynced(): readonly string[];
}

export interface DeriveStageOptions {
  readonly watch: Pick<WatchStage, "clusterState" | "changes" | "unsynced" | "isOwn">;
  readonly settings: Pick<OperatorSettings, "class" | "homeNamespace" | "ingressControllers">;
  readonly client: Pick<ResourceClient, "watch">;
  readonly network: GatewayNetwork;
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, "warn">;
}

const emptyChange: ClusterChange = { resources: [], versions: [], isMeaningful: true, classesChanged: false };

export function createDeriveStage({ watch, settings, client, network, signal, log }: DeriveStageOptions): DeriveStage {
  const changes = createEmitter<ClusterChange>();
  const onChange = () => emit(emptyChange, new Map());
  const { clusterState: watched, unsynced } = watch;
  const reading = { watch: { clusterState: watched, unsynced }, client, signal, log, onChange };
  const ingress = createIngressDeriver({ ...reading, settings });
  const gateway = createGatewayDeriver({ ...reading, class: settings.class, network });
  const derivers = [ingress, gateway];
  const attachments = createPluginAttachments({
    plugins: () => watched.Plugin,
    isOwn: watch.isOwn,
    homeNamespace: settings.homeNamespace,
  });
  const merged = Object.fromEntries(derivedKinds.map((kind) => [kind, new BucketMap<Resource>(hashOfText)])) as Record<
    DerivedKind,
    BucketMap<Resource>
  >;
  const clusterState = Object.defineProperties(
    {},
    Object.fromEntries(
      watchedKinds.map((kind) => [
        kind,
        { enumerable: true, get: () => (isDerivedKind(kind) ? merged[kind] : watched[kind]) },
      ]),
    ),
  ) as ClusterState;
  let versionCount = 0;

  watch.changes.subscribe((change) => {
    const all: DerivedChanges = new Map();
    for (const one of change.resources) {
      const { kind, key } = one;
      if (isDerivedKind(kind)) recordChange(all, kind, key, watched[kind].get(key));
      for (const deriver of derivers) deriver.observe(one);
      attachments.observe(one);
    }
    // Which Plugins are of the class of the installation may have changed.
    if (change.classesChanged) {
      for (const key of watched.Plugin.keys()) attachments.observe({ kind: "Plugin", key, isMeaningful: true });
    }
    emit(change, all);
  });

  /**
   * Emits the change with the changes of derived resources.
   *
   * @param all The changes of the resources of the cluster.
   */
  function emit(change: ClusterChange, all: DerivedChanges): void {
    const more: ClusterChange["resources"][number][] = [];
    const reported = new Set(change.resources.map(({ kind, key }) => `${kind}/${key}`));
    const changed = change.resources.filter(({ isMeaningful }) => isMeaningful);
    const meaningful = new Set(changed.map(({ kind, key }) => `${kind}/${key}`));
    function record(derived: DerivedChanges): void {
      for (const [kind, resources] of derived)
        for (const [key, one] of resources) {
          recordChange(all, kind, key, one);
          more.push({ kind, key, isMeaningful: true });
        }
    }
    for (const deriver of derivers) {
      const { changes: derived, sources } = deriver.derive();
      const different = withoutEqual(derived);
      record(different);
      attachments.observeDerived(different);
      for (const one of sources) if (!reported.has(`${one.kind}/${one.key}`)) more.push(one);
    }
    const { changes: copies, plugins } = attachments.derive();
    // A Route that stays closed is not opened by its own change.
    for (const [kind, resources] of copies)
      for (const key of resources.keys())
        if (all.get(kind)?.has(key)) recordChange(all, kind, key, merged[kind].get(key));
    record(withoutEqual(copies));
    for (const [key, plugin] of plugins) {
      const isOther = !hasSameVersion(merged.Plugin.get(key), plugin);
      recordChange(all, "Plugin", key, plugin);
      if (isOther && !meaningful.has(`Plugin/${key}`)) more.push({ kind: "Plugin", key, isMeaningful: true });
    }
    for (const [kind, resources] of all) merged[kind] = merged[kind].with(resources);
    changes.emit(
      more.length === 0 ? change : { ...change, resources: [...change.resources, ...more], isMeaningful: true },
    );
  }

  /** Drops resources that are equal to the present ones, and gives the others a new resource version. */
  function withoutEqual(changed: DerivedChanges): DerivedChanges {
    for (const [kind, resources] of changed) {
      for (const [key, after] of resources) {
        const before = merged[kind].get(key);
        if (before === after || (before && after && isSameDerived(before, after))) resources.delete(key);
        else if (after) resources.set(key, withVersion(after, `derived-${++versionCount}`));
      }
      if (resources.size === 0) changed.delete(kind);
    }
    return changed;
  }

  return {
    clusterState,
    changes,
    ingress,
    gateway,
    sourcesOf(owner) {
      const source = sourceOf(owner);
      return source ? [source] : ingress.sourcesOf(owner);
    },
    unsynced: () => [...ingress.unsynced(), ...gateway.unsynced()],
  };
}

const withVersion = (resource: Resource, resourceVersion: string): Resource => ({
  ...resource,
  metadata: { ...resource.metadata, resourceVersion },
});

/** Whether a status write is the only difference between two versions of an attached Plugin. */
function hasSameVersion(before: Partial<DerivedResource> | undefined, after: Partial<DerivedResource> | undefined) {
  const versionOf = ({ metadata, derived }: Partial<DerivedResource> = {}) => [
    metadata?.uid,
    metadata?.generation,
    derived?.version,
  ];
  return isDeepStrictEqual(versionOf(before), versionOf(after));
}

/** Whether two derived resources are equal except for their resource versions. */
const isSameDerived = (one: Resource, other: Resource): boolean =>
  isDeepStrictEqual(withVersion(one, ""), withVersion(other, ""));
