/**
 * An in-memory cache of resources, kept up to date by a client's watches. The operator and the admin listener use it.
 */
import { isDeepStrictEqual } from "node:util";
import { BucketMap, CREDENTIAL_LABEL, hashOfText, TLS_SECRET_TYPE } from "@sluice/model";
import { BATCH, BATCH_COMPLETE, BATCH_REMOVE } from "../batch.ts";
import { ApiServerError } from "../cluster/api/api-server-error.ts";
import { SERVICE_LABEL } from "../endpoints.ts";
import { resourceKey } from "../keys.ts";
import {
  type Kind,
  type Observer,
  type Resource,
  type ResourceClient,
  UnknownKind,
  type WatchOptions,
} from "../resource.ts";
import { createPendingWrites, type PendingWrites, versionOf } from "./pending-writes.ts";

export interface NamespaceSelector {
  /** Label selector in kubectl's syntax, such as `sluice.dev/gateway=public`. */
  readonly labels: string;
  /** Namespaces that are included whatever their labels. */
  readonly always: readonly string[];
}

export interface ResourceCacheOptions<Kinds extends Kind> {
  readonly client: Pick<ResourceClient, "watch">;
  readonly kinds: readonly Kinds[];
  /** Watched namespaces. Empty means all. */
  readonly namespaces: readonly string[];
  /**
   * Selects the namespaces to read: resources in all others count as absent, and a namespace is added or removed as a
   * whole. EndpointSlices of all namespaces are included, because nodes are found through them. Default: all watched
   * namespaces.
   */
  readonly namespaceSelector?: NamespaceSelector | null;
  /**
   * Foreign kinds that the cluster need not serve, and that the client need not be allowed to read: such a kind counts
   * as empty.
   */
  readonly optional?: readonly Kinds[];
  /**
   * Label selector for kinds other than Secret. Default: all resources. Of Secrets, the cache always holds those with
   * the label of credentials and those of type kubernetes.io/tls.
   */
  readonly labels?: string;
  /** See WatchOptions. */
  readonly bookkeeping?: boolean;
  readonly signal: AbortSignal;
  readonly log: { warn(details: object, message: string): void };
  /**
   * Called after a list, change or removal, and after namespaces were selected or deselected. `meaningful` is false
   * when only status or bookkeeping changed. A resource with a generation counts as unchanged while its uid, its
   * generation, its batch and, for an EndpointSlice, its Service are the same; an Ingress or IngressClass, while its
   * annotations are the same too.
   */
  readonly onChange: (meaningful: boolean) => void;
  /**
   * Called for every version of a resource before `onChange`, with the previous version: null if the resource did
   * not exist; undefined if that is unknown, because the kind was read for the first time or the namespace has just
   * been selected.
   */
  readonly onVersion?: (kind: Kinds, before: Resource | null | undefined, resource: Resource) => void;
  /**
   * Called with the key (`namespace/name`) of a resource that was added, changed or removed: before `onChange`, and by
   * `recordWrite`, which does not call `onChange`. `meaningful` is as in `onChange`.
   */
  readonly onResource?: (kind: Kinds, key: string, meaningful: boolean) => void;
}

export interface ResourceCache<Kinds extends Kind> {
  /**
   * Resources of each kind by `namespace/name`. A change replaces the map of its kind: a map that was read before stays
   * the same.
   */
  readonly resources: Readonly<Record<Kinds, BucketMap<Resource>>>;
  /** Kinds not listed yet or no longer served by the cluster, and Namespace until the selected namespaces are known. */
  unsynced(): readonly (Kinds | "Namespace")[];
  /**
   * Why the last reads failed, each reason once; empty if they succeeded. A failed read does not make a synced kind
   * unsynced, unless the cluster no longer serves the kind.
   */
  failures(): readonly string[];
  /**
   * Records a resource that a write returned or, with `removed`, one that a write removed. The cache shows the write at
   * once, and watch events for the resource are ignored until they have caught up with the write. Where resource
   * versions are not increasing numbers, this function does nothing, and the caller has to wait for the watch.
   */
  recordWrite(kind: Kinds, resource: Resource, options?: { readonly removed?: boolean }): void;
}

const sameBatch = (before: Resource["metadata"], after: Resource["metadata"]): boolean =>
  [BATCH, BATCH_REMOVE, BATCH_COMPLETE].every((name) => before.annotations?.[name] === after.annotations?.[name]);

/** Whether the core Service is the same. The generation of an EndpointSlice does not change with its Service. */
const sameService = (before: Resource["metadata"], after: Resource["metadata"]): boolean =>
  before.labels?.[SERVICE_LABEL] === after.labels?.[SERVICE_LABEL];

/** The kinds whose annotations are configuration. The generation does not change with the annotations. */
const annotatedKinds: ReadonlySet<string> = new Set(["Ingress", "IngressClass"]);

const isEquivalent = ({ kind, metadata: before }: Resource, { metadata: after }: Resource): boolean =>
  before.uid === after.uid &&
  before.generation === after.generation &&
  sameBatch(before, after) &&
  sameService(before, after) &&
  (!annotatedKinds.has(kind) || isDeepStrictEqual(before.annotations, after.annotations)) &&
  (after.generation !== undefined || before.resourceVersion === after.resourceVersion);

/**
 * The resources of one watch. They are kept per watch, so that `replaced` of one watch does not drop the resources of
 * another.
 */
interface WatchScope<Kinds extends Kind> extends Pick<WatchOptions, "namespace" | "labels" | "fields"> {
  readonly kind: Kinds;
  readonly found: Map<string, Resource>;
}

export function createResourceCache<Kinds extends Kind>(options: ResourceCacheOptions<Kinds>): ResourceCache<Kinds> {
  const { client, kinds, bookkeeping, signal, log, onChange, onVersion, onResource } = options;
  const cached = Object.fromEntries(kinds.map((kind) => [kind, new BucketMap<Resource>(hashOfText)])) as Record<
    Kinds,
    BucketMap<Resource>
  >;
  const scopes = kinds.flatMap((kind) => scopesOf(kind, options));
  const unsynced = new Set(scopes);
  const failures = new Map<WatchScope<Kinds>, string>();
  const selector = options.namespaceSelector;
  const selected = selector && trackNamespaces(selector, { client, signal, log, onChange: applyNamespaceChange });
  const ahead = Object.fromEntries(kinds.map((kind) => [kind, createPendingWrites()])) as Record<Kinds, PendingWrites>;

  /** The version that the watches delivered, without pending writes; undefined: they delivered none. */
  const watchedVersionOf = (kind: Kinds, key: string): Resource | undefined =>
    scopes.find((scope) => scope.kind === kind && scope.found.has(key))?.found.get(key);

  const isSelected = (kind: Kinds, { metadata }: Resource): boolean =>
    !selected || ignoresNamespaceSelector(kind) || selected.has(metadata.namespace);

  /** The resources of a namespace are read before the namespace is selected, so all of them appear together. */
  function applyNamespaceChange(moved: readonly string[]): void {
    const names = new Set(moved);
    for (const { kind, found } of scopes) {
      if (ignoresNamespaceSelector(kind)) continue;
      const inside = new Map([...found].filter(([, { metadata }]) => names.has(metadata.namespace)));
      put(kind, inside);
      for (const resource of inside.values()) if (isSelected(kind, resource)) onVersion?.(kind, undefined, resource);
    }
    onChange(true);
  }

  /** @param changes By `namespace/name`; undefined: the resource is gone. */
  function put(kind: Kinds, changes: ReadonlyMap<string, Resource | undefined>): void {
    const before = cached[kind];
    const selected = [...changes].map(
      ([key, observed]) => [key, observed && isSelected(kind, observed) ? observed : undefined] as const,
    );
    cached[kind] = before.with(selected);
    for (const [key, resource] of selected) {
      const earlier = before.get(key);
      if (earlier !== resource) onResource?.(kind, key, !earlier || !resource || !isEquivalent(earlier, resource));
    }
  }

  function observe(scope: WatchScope<Kinds>): void {
    const { kind, found, ...selection } = scope;
    /** Changes that `put` applies at the end of an event. */
    const changes = new Map<string, Resource | undefined>();

    /** @param event The resource as the removal event has it. */
    function forget(key: string, event?: Resource): void {
      found.delete(key);
      const still = watchedVersionOf(kind, key);
      if (!ahead[kind].supersedes(key, { resource: still ?? null, ...(event && { event }) })) changes.set(key, still);
    }

    function keep(resource: Resource): void {
      const key = resourceKey(resource);
      const known = cached[kind].get(key);
      const observed = known && isSameVersion(known, resource) ? known : resource;
      found.set(key, observed);
      if (!ahead[kind].supersedes(key, { resource: observed })) changes.set(key, observed);
    }

    /** Does nothing for a kind with several watches, because these are not synchronized with each other. */
    function expirePendingWrites(event: Resource): void {
      if (scopes.some((other) => other !== scope && other.kind === kind)) return;
      for (const key of ahead[kind].expireBefore(event)) changes.set(key, found.get(key));
    }

    function putChanges(): void {
      put(kind, changes);
      changes.clear();
    }

    const observer: Observer = {
      replaced(list) {
        const before = new Map(found);
        const unknown = unsynced.has(scope) ? undefined : null;
        const there = new Set(list.map(resourceKey));
        for (const key of before.keys()) if (!there.has(key)) forget(key);
        for (const resource of list) keep(resource);
        putChanges();
        for (const resource of list) {
          if (isSelected(kind, resource)) onVersion?.(kind, before.get(resourceKey(resource)) ?? unknown, resource);
        }
        unsynced.delete(scope);
        failures.delete(scope);
        onChange(true);
      },
      changed(resource) {
        const before = cached[kind].get(resourceKey(resource));
        keep(resource);
        expirePendingWrites(resource);
        putChanges();
        if (!isSelected(kind, resource)) return;
        onVersion?.(kind, before ?? null, resource);
        onChange(!before || !isEquivalent(before, resource));
      },
      removed(resource) {
        const key = resourceKey(resource);
        if (!found.has(key)) return;
        forget(key, resource);
        expirePendingWrites(resource);
        putChanges();
        if (isSelected(kind, resource)) onChange(true);
      },
      lost(error) {
        if (error instanceof UnknownKind && options.optional?.includes(kind)) {
          observer.replaced([]);
          return;
        }
        if (isForbidden(error) && unsynced.has(scope) && options.optional?.includes(kind)) {
          observer.replaced([]);
          log.warn(
            { kind, reason: error.message },
            `${kind} is ignored: allow this account to list and watch the kind`,
          );
          return;
        }
        // If the kind is not served, an empty list would look like a deletion of everything, so the kind counts as not
        // synced.
        if (error instanceof UnknownKind) unsynced.add(scope);
        failures.set(scope, error.message);
        log.warn({ kind, namespace: scope.namespace, reason: error.message }, "cannot read resources, trying again");
      },
      failure(error) {
        if ((error instanceof UnknownKind || isForbidden(error)) && options.optional?.includes(kind)) return;
        if (error) failures.set(scope, error.message);
        else failures.delete(scope);
      },
    };
    client.watch(kind, observer, { signal, ...selection, ...(bookkeeping !== undefined && { bookkeeping }) });
  }

  for (const scope of scopes) observe(scope);
  return {
    resources: cached,
    unsynced: () => [
      ...(selected && !selected.isSynced() ? (["Namespace"] as const) : []),
      ...kinds.filter((kind) => [...unsynced].some((scope) => scope.kind === kind)),
    ],
    failures: () => [...new Set([...failures.values(), ...(selected?.failures() ?? [])])],
    recordWrite(kind, resource, { removed = false } = {}) {
      const version = versionOf(resource);
      if (version === undefined) return;
      const key = resourceKey(resource);
      const observed = watchedVersionOf(kind, key);
      const isReported = removed
        ? observed?.metadata.uid !== resource.metadata.uid && !ahead[kind].has(key)
        : observed !== undefined && (versionOf(observed) ?? 0n) >= version;
      if (isReported) return;
      ahead[kind].record(key, resource, { removed });
      put(kind, new Map([[key, removed ? undefined : resource]]));
    },
  };
}

const isForbidden = (error: Error | null): boolean => error instanceof ApiServerError && error.code === 403;

interface NamespaceTrackerOptions extends Pick<ResourceCacheOptions<"Namespace">, "client" | "signal" | "log"> {
  /** Called after the first list and when namespaces are added or removed. `has` already reflects the change. */
  readonly onChange: (moved: readonly string[]) => void;
}

/** The namespaces that match a label selector, followed as their labels change. */
function trackNamespaces({ labels, always }: NamespaceSelector, { onChange, ...options }: NamespaceTrackerOptions) {
  let selected = new Set(always);
  let synced = false;
  const cache = createResourceCache({
    ...options,
    kinds: ["Namespace"],
    namespaces: [],
    labels,
    onChange() {
      const names = cache.resources.Namespace.values().map(({ metadata }) => metadata.name);
      const next = new Set([...always, ...names]);
      const moved = [...selected.symmetricDifference(next)];
      const isNews = moved.length > 0 || !synced;
      selected = next;
      synced = true;
      if (isNews) onChange(moved);
    },
  });
  return { has: (namespace: string) => selected.has(namespace), isSynced: () => synced, failures: cache.failures };
}

/** Kinds without a namespace. They cannot be read with rights in some namespaces only. */
const clusterScoped: ReadonlySet<Kind> = new Set(["IngressClass", "GatewayClass", "Namespace"]);

/** Nodes are found through EndpointSlices, in whatever namespace they run. */
const ignoresNamespaceSelector = (kind: Kind): boolean => kind === "EndpointSlice" || clusterScoped.has(kind);

/**
 * Always false for resources of a directory, whose versions are not numbers: such a version stays the same when the
 * creation time changes.
 */
const isSameVersion = (one: Resource, other: Resource): boolean =>
  one.metadata.uid === other.metadata.uid &&
  one.metadata.resourceVersion === other.metadata.resourceVersion &&
  versionOf(one) !== undefined;

/**
 * The watches of a kind: one per namespace; for Secrets, one per namespace and selector. None for a kind without a
 * namespace if only some namespaces are watched: it counts as empty.
 */
function scopesOf<Kinds extends Kind>(
  kind: Kinds,
  { namespaces, labels }: Pick<ResourceCacheOptions<Kinds>, "namespaces" | "labels">,
): readonly WatchScope<Kinds>[] {
  if (namespaces.length > 0 && clusterScoped.has(kind)) return [];
  const places = namespaces.length === 0 ? [{}] : namespaces.map((namespace) => ({ namespace }));
  const ofAll = labels === undefined ? [{}] : [{ labels }];
  const selections = kind === "Secret" ? [{ labels: CREDENTIAL_LABEL }, { fields: `type=${TLS_SECRET_TYPE}` }] : ofAll;
  return places.flatMap((place) => selections.map((selection) => ({ kind, ...place, ...selection, found: new Map() })));
}
