/**
 * Stage between watch and translate: derives Sluice resources from Ingresses, and adds them to the cluster state. The
 * next stages treat derived resources like those of the cluster.
 */
import { isDeepStrictEqual } from "node:util";
import {
  clientCertificatesOf,
  type DerivedIngress,
  deriveIngress,
  isSluiceKind,
  namespacedName,
  ownIngresses,
  type Ref,
  type Resource,
  type ResourceClient,
  resourceKey,
  shapeFaultOf,
  sourceOf,
} from "@sluice/crds";
import { BucketMap, byHash, resourceKinds } from "@sluice/model";
import type { Logger } from "pino";
import { createEmitter, type Output } from "../emitter.ts";
import type { OperatorSettings } from "../settings.ts";
import { type ClusterState, type WatchedKind, watchedKinds } from "../watch/cluster-state.ts";
import { createNamedObjects, type NamedObjectRef } from "../watch/named-objects.ts";
import type { ClusterChange, WatchStage } from "../watch/watch-stage.ts";
import { createDerivedCertificates } from "./derived-certificates.ts";
import { createHostIndex } from "./host-index.ts";

export interface DeriveStage {
  /** The cluster state with the derived resources. */
  readonly clusterState: ClusterState;
  /** The changes of the watch stage, with those of the derived resources. */
  readonly changes: Output<ClusterChange>;
  /** The Ingresses of this installation, by `namespace/name`. */
  readonly ingresses: ReadonlyMap<string, Resource>;
  /** The problems that an Ingress (`namespace/name`) has by itself. */
  problemsOf(key: string): DerivedIngress["problems"];
  /** The resources from which a derived resource was made; empty for other resources. */
  sourcesOf(owner: Ref): readonly Ref[];
  /** At the start, the objects that Ingresses name and whose first read has not ended. */
  unsynced(): readonly string[];
}

export interface DeriveStageOptions {
  readonly watch: Pick<WatchStage, "clusterState" | "changes" | "unsynced">;
  readonly settings: Pick<OperatorSettings, "class" | "ingressControllers">;
  readonly client: Pick<ResourceClient, "watch">;
  readonly signal: AbortSignal;
  readonly log: Pick<Logger, "warn">;
}

interface Derivation {
  readonly ingress: Resource;
  readonly resources: readonly Resource[];
  readonly problems: DerivedIngress["problems"];
  /** The core Services that were looked up, by `namespace/name`. */
  readonly services: ReadonlySet<string>;
  /** Whether the first read of each object that the Ingress names has ended. */
  readonly isComplete: boolean;
}

/** The kinds of derived resources. */
const derivedKinds = [...resourceKinds, "Secret"] as const;
type DerivedKind = (typeof derivedKinds)[number];

const isDerivedKind = (kind: WatchedKind): kind is DerivedKind => kind === "Secret" || isSluiceKind(kind);

/** Changed resources of each kind by `namespace/name`; undefined: the resource is gone. */
type Changes = Map<DerivedKind, Map<string, Resource | undefined>>;

/** Milliseconds for which a deleted IngressClass counts. */
const DELETED_CLASS_GRACE = 30_000;

const emptyChange: ClusterChange = { resources: [], versions: [], isMeaningful: true, classesChanged: false };

export function createDeriveStage({ watch, settings, ...reading }: DeriveStageOptions): DeriveStage {
  const changes = createEmitter<ClusterChange>();
  const derivations = new Map<string, Derivation>();
  const ingresses = new Map<string, Resource>();
  /** The Ingresses that looked up a core Service, by the Service's `namespace/name`. */
  const dependents = new Map<string, Set<string>>();
  const certificates = createDerivedCertificates(settings.class);
  const hosts = createHostIndex();
  const named = createNamedObjects({
    ...reading,
    onChange: (users) => emit(emptyChange, { all: new Map(), dirty: users }),
  });
  const merged = Object.fromEntries(derivedKinds.map((kind) => [kind, new BucketMap<Resource>(byHash)])) as Record<
    DerivedKind,
    BucketMap<Resource>
  >;
  const clusterState = Object.defineProperties(
    {},
    Object.fromEntries(
      watchedKinds.map((kind) => [
        kind,
        { enumerable: true, get: () => (isDerivedKind(kind) ? merged[kind] : watch.clusterState[kind]) },
      ]),
    ),
  ) as ClusterState;
  const ownership = { class: settings.class, controllers: settings.ingressControllers };
  /** The IngressClasses, with those that were deleted a moment ago. */
  const knownClasses = new Map<string, Resource>();
  let isOwn = ownIngresses({ ...ownership, ingressClasses: [] });
  const readable = new WeakMap<Resource, boolean>();
  let versionCount = 0;
  /** Whether everything was read once. Afterwards, an object that is not read yet delays only its own Ingress. */
  let isStarted = false;

  watch.changes.subscribe((change) => {
    const all: Changes = new Map();
    const dirty = new Set<string>();
    for (const { kind, key, isMeaningful } of change.resources) {
      if (isDerivedKind(kind)) record(all, kind, key, watch.clusterState[kind].get(key));
      else if (!isMeaningful) continue;
      else if (kind === "Ingress") dirty.add(key);
      else if (kind === "CoreService") for (const dependent of dependents.get(key) ?? []) dirty.add(dependent);
      else if (kind === "IngressClass") {
        keepDeletedClass(key);
        for (const every of updateOwnership()) dirty.add(every);
      }
    }
    emit(change, { all, dirty });
  });

  /** Emits the change with the changes of the resources that are derived from the dirty Ingresses. */
  function emit(change: ClusterChange, { all, dirty }: { readonly all: Changes; readonly dirty: ReadonlySet<string> }) {
    const { changed: derived, withOtherProblems } = deriveAgain(dirty);
    for (const [kind, resources] of derived) for (const [key, one] of resources) record(all, kind, key, one);
    for (const [kind, resources] of all) merged[kind] = merged[kind].with(resources);
    const more = [...derived].flatMap(([kind, resources]): ClusterChange["resources"] =>
      [...resources.keys()].map((key) => ({ kind, key, isMeaningful: true })),
    );
    // The problems of an Ingress may change without the Ingress, for example with a Secret that it names.
    const reported = new Set(change.resources.filter(({ kind }) => kind === "Ingress").map(({ key }) => key));
    for (const key of withOtherProblems.difference(reported)) more.push({ kind: "Ingress", key, isMeaningful: false });
    changes.emit(
      more.length === 0 ? change : { ...change, resources: [...change.resources, ...more], isMeaningful: true },
    );
  }

  /** A deleted IngressClass counts for a moment, so that it can be replaced without an interruption. */
  function keepDeletedClass(key: string): void {
    const now = watch.clusterState.IngressClass.get(key);
    const before = knownClasses.get(key);
    if (now) knownClasses.set(key, now);
    if (now || !before) return;
    setTimeout(() => {
      if (watch.clusterState.IngressClass.has(key)) return;
      knownClasses.delete(key);
      emit(emptyChange, { all: new Map(), dirty: updateOwnership() });
    }, DELETED_CLASS_GRACE).unref();
  }

  /** Decides again which Ingresses are own. Returns the keys of all Ingresses. */
  function updateOwnership(): ReadonlySet<string> {
    isOwn = ownIngresses({ ...ownership, ingressClasses: knownClasses.values() });
    return new Set(watch.clusterState.Ingress.keys());
  }

  /** The Ingress if it is one of this installation. */
  function ownIngress(key: string): Resource | undefined {
    const ingress = watch.clusterState.Ingress.get(key);
    if (!ingress || ingress.metadata.deletionTimestamp !== undefined || !isOwn(ingress)) return undefined;
    return isReadable(ingress) ? ingress : undefined;
  }

  /** No API server validates the Ingresses of a directory: one of an unexpected shape is left out. */
  function isReadable(ingress: Resource): boolean {
    const known = readable.get(ingress);
    if (known !== undefined) return known;
    const fault = shapeFaultOf(ingress);
    readable.set(ingress, fault === undefined);
    if (fault !== undefined)
      reading.log.warn({ ingress: resourceKey(ingress), reason: fault }, "cannot read an Ingress");
    return fault === undefined;
  }

  /** The derived resources that differ from before, and the Ingresses whose problems differ. */
  function deriveAgain(changedIngresses: ReadonlySet<string>) {
    const changed: Changes = new Map();
    const withOtherProblems = new Set<string>();
    const dirty = new Set(changedIngresses);
    for (const key of changedIngresses) for (const other of hosts.update(key, ownIngress(key))) dirty.add(other);
    for (const key of dirty) {
      const before = derivations.get(key);
      const ingress = ownIngress(key);
      const after = ingress && derive(ingress);
      // An Ingress that newly names an object stays as it was until the object has been read.
      if (before && after && !after.isComplete) continue;
      for (const service of before?.services ?? []) dependents.get(service)?.delete(key);
      for (const one of before?.resources ?? []) record(changed, one.kind as DerivedKind, resourceKey(one), undefined);
      for (const one of after?.resources ?? []) record(changed, one.kind as DerivedKind, resourceKey(one), one);
      for (const service of after?.services ?? []) {
        const known = dependents.get(service) ?? new Set();
        dependents.set(service, known.add(key));
      }
      certificates.update(key, after?.ingress);
      if (!isDeepStrictEqual(before?.problems ?? [], after?.problems ?? [])) withOtherProblems.add(key);
      if (after) {
        derivations.set(key, after);
        ingresses.set(key, after.ingress);
      } else {
        derivations.delete(key);
        ingresses.delete(key);
        named.keepOnly(key, []);
      }
    }
    for (const [key, certificate] of certificates.takeChanges()) record(changed, "Certificate", key, certificate);
    return { changed: withoutEqual(changed), withOtherProblems };
  }

  /** Drops resources that are equal to the present ones, and gives the others a new resource version. */
  function withoutEqual(changed: Changes): Changes {
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

  function derive(ingress: Resource): Derivation {
    const services = new Set<string>();
    const objects: NamedObjectRef[] = [];
    const { namespace } = ingress.metadata;
    const readIn = (namespace: string) => (kind: "CoreService" | "Secret" | "ConfigMap", name: string) => {
      const key = namespacedName(namespace, name);
      if (kind === "CoreService") {
        services.add(key);
        return watch.clusterState.CoreService.get(key);
      }
      const ref = { kind, namespace, name };
      objects.push(ref);
      return named.read(resourceKey(ingress), ref);
    };
    const { resources, problems } = deriveIngress(ingress, {
      class: settings.class,
      hasRegexPaths: hosts.hasRegexPaths,
      hasTls: hosts.hasTls,
      hasHost: (host) => hosts.primariesOf(host).size > 0,
      canariesOf: (host) => hosts.canariesOf(host, namespace),
      clientCertificatesOf(host) {
        const source = hosts.requiringCertificates(host);
        return source && clientCertificatesOf(source, readIn(source.metadata.namespace));
      },
      read: readIn(namespace),
    });
    named.keepOnly(resourceKey(ingress), objects);
    return { ingress, resources, problems, services, isComplete: objects.every(named.isSettled) };
  }

  return {
    clusterState,
    changes,
    ingresses,
    problemsOf: (key) => derivations.get(key)?.problems ?? [],
    sourcesOf(owner) {
      const source = sourceOf(owner);
      return source ? [source] : certificates.sourcesOf(owner);
    },
    unsynced() {
      const missing = isStarted ? [] : named.unsettled();
      isStarted ||= missing.length === 0 && watch.unsynced().length === 0;
      return missing;
    },
  };
}

const withVersion = (resource: Resource, resourceVersion: string): Resource => ({
  ...resource,
  metadata: { ...resource.metadata, resourceVersion },
});

/** Whether two derived resources are equal except for their resource versions. */
const isSameDerived = (one: Resource, other: Resource): boolean =>
  isDeepStrictEqual(withVersion(one, ""), withVersion(other, ""));

function record(changes: Changes, kind: DerivedKind, key: string, resource: Resource | undefined): void {
  const ofKind = changes.get(kind) ?? new Map<string, Resource | undefined>();
  changes.set(kind, ofKind.set(key, resource));
}
