/** Keeps resources in memory, up to date from a client's watches. Used by the operator and the admin listener. */
import { type Kind, type Observer, type Resource, type ResourceClient, UnknownKind } from "./resource.ts";

export interface CacheOptions<Kinds extends Kind> {
  readonly client: ResourceClient;
  readonly kinds: readonly Kinds[];
  /** Watched namespaces; all when empty. */
  readonly namespaces: readonly string[];
  /** Label selector for Secrets: only those that carry it are read. */
  readonly secretLabel: string;
  readonly signal: AbortSignal;
  readonly log: { warn(details: object, message: string): void };
  /**
   * Something was listed, changed or removed. `meaningful` is false when only status or bookkeeping changed: a
   * resource with a generation means the same while its generation is the same.
   */
  readonly onChange: (meaningful: boolean) => void;
}

export interface ResourceCache<Kinds extends Kind> {
  /** Resources of each kind by `namespace/name`. */
  readonly resources: Readonly<Record<Kinds, ReadonlyMap<string, Resource>>>;
  /** Kinds that have not been listed yet, or that the cluster does not know any more. */
  unsynced(): readonly Kinds[];
}

export const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

export const resourceKey = ({ metadata }: Resource): string => keyOf(metadata.namespace, metadata.name);

const sameMeaning = ({ metadata: before }: Resource, { metadata: after }: Resource): boolean =>
  before.uid === after.uid &&
  before.generation === after.generation &&
  (after.generation !== undefined || before.resourceVersion === after.resourceVersion);

export function createResourceCache<Kinds extends Kind>(options: CacheOptions<Kinds>): ResourceCache<Kinds> {
  const { client, kinds, namespaces, secretLabel, signal, log, onChange } = options;
  const cached = new Map(kinds.map((kind) => [kind, new Map<string, Resource>()]));
  const unsynced = new Set<string>();

  function observe(kind: Kinds, held: Map<string, Resource>, namespace: string | undefined): void {
    const scope = `${kind} ${namespace ?? ""}`;
    unsynced.add(scope);
    const observer: Observer = {
      replaced(list) {
        for (const [key, resource] of held)
          if (namespace === undefined || resource.metadata.namespace === namespace) held.delete(key);
        for (const resource of list) held.set(resourceKey(resource), resource);
        unsynced.delete(scope);
        onChange(true);
      },
      changed(resource) {
        const key = resourceKey(resource);
        const before = held.get(key);
        held.set(key, resource);
        onChange(!before || !sameMeaning(before, resource));
      },
      removed(resource) {
        if (held.delete(resourceKey(resource))) onChange(true);
      },
      lost(error) {
        // Without the kind an empty list would look like a deletion of everything: the kind counts as not synced.
        if (error instanceof UnknownKind) unsynced.add(scope);
        log.warn({ kind, namespace, reason: error.message }, "cannot read resources, trying again");
      },
    };
    client.watch(kind, observer, {
      signal,
      ...(namespace === undefined ? {} : { namespace }),
      ...(kind === "Secret" ? { labels: secretLabel } : {}),
    });
  }

  for (const [kind, held] of cached) {
    if (namespaces.length === 0) observe(kind, held, undefined);
    else for (const namespace of namespaces) observe(kind, held, namespace);
  }
  return {
    resources: Object.fromEntries(cached) as unknown as Record<Kinds, Map<string, Resource>>,
    unsynced: () => kinds.filter((kind) => [...unsynced].some((scope) => scope.startsWith(`${kind} `))),
  };
}
