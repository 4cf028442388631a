/** First stage: watches the cluster, keeps its state and reports what changed. */
import {
  type ClassTracker,
  createResourceCache,
  type NamespaceSelector,
  type Resource,
  type ResourceClient,
  trackClasses,
} from "@sluice/crds";
import { resourceKinds, SettingsError } from "@sluice/model";
import type { Logger } from "pino";
import { createEmitter, type Output } from "../emitter.ts";
import type { OperatorGauges } from "../metrics.ts";
import { type OperatorSettings, operatorSettings } from "../settings.ts";
import { type ClusterState, type WatchedKind, watchedKinds } from "./cluster-state.ts";

export interface ChangedResource {
  readonly kind: WatchedKind;
  /** `namespace/name`. */
  readonly key: string;
  /** False: only the resource's status or bookkeeping changed. */
  readonly isMeaningful: boolean;
}

export interface ObservedVersion {
  readonly kind: WatchedKind;
  /**
   * The previous version. Null: there was none; undefined: it is unknown, because reading has just begun or the
   * namespace was just selected.
   */
  readonly before: Resource | null | undefined;
  readonly resource: Resource;
}

/** The effect of one list or watch event after it was applied to the cluster state, or a change of classes. */
export interface ClusterChange {
  readonly resources: readonly ChangedResource[];
  readonly versions: readonly ObservedVersion[];
  /** False: only statuses and bookkeeping changed. */
  readonly isMeaningful: boolean;
  /** Whether the served classes or the classes of namespaces have changed. */
  readonly classesChanged: boolean;
}

export interface WatchStage {
  readonly clusterState: ClusterState;
  readonly classes: Pick<ClassTracker, "classOf" | "servedClasses" | "firstClusterWideClass">;
  /** Whether the resource is of the operator's class. */
  isOwn(resource: Resource): boolean;
  readonly changes: Output<ClusterChange>;
  /** Kinds that were not read yet, or that the cluster no longer serves. */
  unsynced(): readonly string[];
  readonly gauges: Pick<OperatorGauges, "resources">;
}

/**
 * Many clusters have no Gateway API: without it, no reference to another namespace is allowed. Roles of earlier versions
 * lack the rights to its kinds. Earlier versions had no GatewayParameters.
 */
const optionalKinds: readonly WatchedKind[] = [
  "GatewayClass",
  "Gateway",
  "ListenerSet",
  "HTTPRoute",
  "GRPCRoute",
  "TLSRoute",
  "BackendTLSPolicy",
  "GatewayParameters",
  "ReferenceGrant",
  "Namespace",
];

type NamespaceSettings = Pick<OperatorSettings, "namespaceSelector" | "namespaces" | "homeNamespace" | "directory">;

export interface WatchStageOptions {
  readonly client: ResourceClient;
  readonly settings: Pick<OperatorSettings, "class"> & NamespaceSettings;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** @throws SettingsError when the settings of namespaces contradict each other. */
export function createWatchStage({ client, settings, signal, log }: WatchStageOptions): WatchStage {
  const { namespaces } = settings;
  const changes = createEmitter<ClusterChange>();
  let resources: ChangedResource[] = [];
  let versions: ObservedVersion[] = [];

  const cache = createResourceCache({
    client,
    kinds: watchedKinds,
    namespaces,
    namespaceSelector: namespaceSelectorOf(settings),
    optional: optionalKinds,
    // Managed fields take much memory. Only writes of statuses start from cached resources, and the client reads
    // managed fields again for a write that needs them.
    bookkeeping: false,
    signal,
    log,
    onResource: (kind, key, isMeaningful) => void resources.push({ kind, key, isMeaningful }),
    onVersion: (kind, before, resource) => void versions.push({ kind, before, resource }),
    onChange(isMeaningful) {
      const change = { resources, versions, isMeaningful, classesChanged: false };
      [resources, versions] = [[], []];
      changes.emit(change);
    },
  });
  const classes = trackClasses({
    client,
    own: { class: settings.class, namespace: settings.homeNamespace },
    namespaces,
    signal,
    log,
    onChange(moved) {
      const movedNamespaces = new Set(moved);
      const ofMoved = resourceKinds.flatMap((kind) =>
        [...cache.resources[kind]].flatMap(([key, { metadata }]) =>
          movedNamespaces.has(metadata.namespace) ? [{ kind, key, isMeaningful: true }] : [],
        ),
      );
      changes.emit({ resources: ofMoved, versions: [], isMeaningful: true, classesChanged: true });
    },
  });
  return {
    clusterState: cache.resources,
    classes,
    isOwn: (resource) => classes.classOf(resource) === settings.class,
    changes,
    unsynced: () => [...cache.unsynced(), ...(classes.isSynced() ? [] : ["Lease"])],
    gauges: {
      resources: () => Object.fromEntries(watchedKinds.map((kind) => [kind, cache.resources[kind].size])),
    },
  };
}

/**
 * The selector of the namespaces whose resources are used, with the home namespace always included; null: all watched
 * namespaces.
 *
 * @throws SettingsError when it contradicts other settings.
 */
export function namespaceSelectorOf(settings: NamespaceSettings): NamespaceSelector | null {
  const { namespaceSelector, namespaces, homeNamespace, directory } = settings;
  if (namespaceSelector === null) return null;
  const { variable } = operatorSettings.namespaceSelector;
  if (namespaces.length > 0)
    throw new SettingsError(
      `${variable} and ${operatorSettings.namespaces.variable} both select namespaces: set one of them`,
    );
  if (directory !== null)
    throw new SettingsError(
      `${variable} needs a cluster: a directory (${operatorSettings.directory.variable}) has no namespace labels`,
    );
  return { labels: namespaceSelector, always: [homeNamespace] };
}
