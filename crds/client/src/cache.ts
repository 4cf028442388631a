/** Keeps resources in memory, up to date from a client's watches. Used by the operator and the admin listener. */
import { TLS_SECRET_TYPE } from "@sluice/model";
import { BATCH, BATCH_COMPLETE, BATCH_REMOVE } from "./batch.ts";
import {
  type Kind,
  type Observer,
  type Resource,
  type ResourceClient,
  UnknownKind,
  type WatchOptions,
} from "./resource.ts";

export interface CacheOptions<Kinds extends Kind> {
  readonly client: ResourceClient;
  readonly kinds: readonly Kinds[];
  /** Watched namespaces; all when empty. */
  readonly namespaces: readonly string[];
  /** Label selector for Secrets: only those that carry it are read, and besides those that hold a TLS certificate. */
  readonly secretLabel: string;
  readonly signal: AbortSignal;
  readonly log: { warn(details: object, message: string): void };
  /**
   * Something was listed, changed or removed. `meaningful` is false when only status or bookkeeping changed: a
   * resource with a generation means the same while its generation and its batch are the same.
   */
  readonly onChange: (meaningful: boolean) => void;
  /**
   * Told of every version of a resource before `onChange`, with what stood in its place. null: nothing; undefined:
   * nobody knows, because the kind was read for the first time.
   */
  readonly onVersion?: (kind: Kinds, before: Resource | null | undefined, resource: Resource) => void;
  /** Told before `onChange` which resource (`namespace/name`) is another object now, or gone. */
  readonly onResource?: (kind: Kinds, key: string) => void;
}

export interface ResourceCache<Kinds extends Kind> {
  /** Resources of each kind by `namespace/name`. */
  readonly resources: Readonly<Record<Kinds, ReadonlyMap<string, Resource>>>;
  /** Kinds that have not been listed yet, or that the cluster does not know any more. */
  unsynced(): readonly Kinds[];
}

export const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

export const resourceKey = ({ metadata }: Resource): string => keyOf(metadata.namespace, metadata.name);

const sameBatch = (before: Resource["metadata"], after: Resource["metadata"]): boolean =>
  [BATCH, BATCH_REMOVE, BATCH_COMPLETE].every((name) => before.annotations?.[name] === after.annotations?.[name]);

const sameMeaning = ({ metadata: before }: Resource, { metadata: after }: Resource): boolean =>
  before.uid === after.uid &&
  before.generation === after.generation &&
  sameBatch(before, after) &&
  (after.generation !== undefined || before.resourceVersion === after.resourceVersion);

/** What one watch is told, so that the end of one does not take what another one still sees. */
interface Scope<Kinds extends Kind> extends Pick<WatchOptions, "namespace" | "labels" | "fields"> {
  readonly kind: Kinds;
  readonly found: Map<string, Resource>;
}

export function createResourceCache<Kinds extends Kind>(options: CacheOptions<Kinds>): ResourceCache<Kinds> {
  const { client, kinds, signal, log, onChange, onVersion, onResource } = options;
  const cached = new Map(kinds.map((kind) => [kind, new Map<string, Resource>()]));
  const scopes = kinds.flatMap((kind) => scopesOf(kind, options));
  const unsynced = new Set(scopes);

  function observe(scope: Scope<Kinds>, held: Map<string, Resource>): void {
    const { kind, found, ...selection } = scope;
    const beside = scopes.filter((other) => other !== scope && other.kind === kind);

    function forget(key: string): void {
      found.delete(key);
      const still = beside.find((other) => other.found.has(key))?.found.get(key);
      if (still) held.set(key, still);
      else held.delete(key);
      onResource?.(kind, key);
    }

    function keep(resource: Resource): void {
      const key = resourceKey(resource);
      found.set(key, resource);
      held.set(key, resource);
      onResource?.(kind, key);
    }

    const observer: Observer = {
      replaced(list) {
        const before = new Map(found);
        const unknown = unsynced.has(scope) ? undefined : null;
        for (const key of before.keys()) forget(key);
        for (const resource of list) {
          keep(resource);
          onVersion?.(kind, before.get(resourceKey(resource)) ?? unknown, resource);
        }
        unsynced.delete(scope);
        onChange(true);
      },
      changed(resource) {
        const before = held.get(resourceKey(resource));
        keep(resource);
        onVersion?.(kind, before ?? null, resource);
        onChange(!before || !sameMeaning(before, resource));
      },
      removed(resource) {
        const key = resourceKey(resource);
        if (!found.has(key)) return;
        forget(key);
        onChange(true);
      },
      lost(error) {
        // Without the kind an empty list would look like a deletion of everything: the kind counts as not synced.
        if (error instanceof UnknownKind) unsynced.add(scope);
        log.warn({ kind, namespace: scope.namespace, reason: error.message }, "cannot read resources, trying again");
      },
    };
    client.watch(kind, observer, { signal, ...selection });
  }

  for (const scope of scopes) {
    const held = cached.get(scope.kind);
    if (held) observe(scope, held);
  }
  return {
    resources: Object.fromEntries(cached) as unknown as Record<Kinds, Map<string, Resource>>,
    unsynced: () => kinds.filter((kind) => [...unsynced].some((scope) => scope.kind === kind)),
  };
}

/** The watches for a kind: one for each namespace, and for Secrets one for each of the ways to be ours. */
function scopesOf<Kinds extends Kind>(
  kind: Kinds,
  { namespaces, secretLabel }: Pick<CacheOptions<Kinds>, "namespaces" | "secretLabel">,
): readonly Scope<Kinds>[] {
  const places = namespaces.length === 0 ? [{}] : namespaces.map((namespace) => ({ namespace }));
  const selections = kind === "Secret" ? [{ labels: secretLabel }, { fields: `type=${TLS_SECRET_TYPE}` }] : [{}];
  return places.flatMap((place) => selections.map((selection) => ({ kind, ...place, ...selection, found: new Map() })));
}
