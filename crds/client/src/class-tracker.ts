/**
 * Which Sluice a resource belongs to. `spec.class` says it; without one, the operators' Leases do: the Lease of an
 * operator lies in its home namespace and carries its class as a label, and the same label on another Lease gives the
 * operator another namespace. So the answer for a namespace depends on what lies in that namespace alone: every operator
 * that may read there comes to the same one, and nobody outside of it can change it.
 */
import { CLASS_LABEL, DEFAULT_CLASS } from "@sluice/model";
import type { Resource, ResourceClient } from "./resource.ts";
import { classOf } from "./translate/identity.ts";

/** Annotation of an operator's Lease: `all` when it reads all namespaces. */
export const READS_ANNOTATION = "sluice.dev/reads";

export interface ClassTrackerOptions {
  readonly client: Pick<ResourceClient, "watch">;
  /** The class of this process and its home namespace, which counts before its Lease is there. */
  readonly own: { readonly class: string; readonly namespace: string };
  /** Watched namespaces; all when empty. */
  readonly namespaces: readonly string[];
  readonly signal: AbortSignal;
  readonly log: { warn(details: object, message: string): void };
  /** The first list has come, resources without a class in these namespaces belong to another one now, or others are served. */
  readonly onChange: (moved: readonly string[]) => void;
}

export interface ClassTracker {
  /** The class that the resource belongs to. */
  classOf(resource: Pick<Resource, "metadata" | "spec">): string;
  /** Classes that an operator serves now, this process's own among them, in alphabetical order. */
  servedClasses(): readonly string[];
  /** The first class whose operator reads all namespaces; undefined: none does. */
  firstClusterWideClass(): string | undefined;
  isSynced(): boolean;
  /** Why the last attempt to read has failed; null when all is well. */
  trouble(): string | null;
}

interface ClassLease {
  readonly namespace: string;
  readonly class: string;
  readonly isHeld: boolean;
  readonly readsAll: boolean;
}

/** One watch, so that the end of one does not take what another one still sees. */
interface Scope {
  readonly namespace?: string;
  readonly markers: Map<string, ClassLease>;
}

export function trackClasses({ client, own, namespaces, signal, log, onChange }: ClassTrackerOptions): ClassTracker {
  const scopes: readonly Scope[] =
    namespaces.length === 0
      ? [{ markers: new Map() }]
      : [...new Set(namespaces)].map((namespace) => ({ namespace, markers: new Map() }));
  const unsynced = new Set(scopes);
  const troubles = new Map<Scope, string>();
  let byNamespace = classesByNamespace([], own);
  let served: readonly string[] = [own.class];

  const all = (): readonly ClassLease[] => scopes.flatMap(({ markers }) => [...markers.values()]);

  function update(isNews = false): void {
    const [before, servedBefore] = [byNamespace, served];
    const markers = all();
    byNamespace = classesByNamespace(markers, own);
    served = [...new Set([own.class, ...markers.flatMap((one) => (one.isHeld ? [one.class] : []))])].sort();
    const moved = [...new Set([...before.keys(), ...byNamespace.keys()])].filter(
      (namespace) => before.get(namespace) !== byNamespace.get(namespace),
    );
    if (isNews || moved.length > 0 || `${served}` !== `${servedBefore}`) onChange(moved);
  }

  function observe(scope: Scope): void {
    const { markers, namespace } = scope;
    const keep = (lease: Resource) => {
      const marker = classLeaseOf(lease);
      if (marker) markers.set(keyOf(lease), marker);
    };
    client.watch(
      "Lease",
      {
        replaced(leases) {
          markers.clear();
          leases.forEach(keep);
          troubles.delete(scope);
          update(unsynced.delete(scope));
        },
        changed(lease) {
          keep(lease);
          update();
        },
        removed(lease) {
          markers.delete(keyOf(lease));
          update();
        },
        lost(error) {
          troubles.set(scope, error.message);
          log.warn({ kind: "Lease", namespace, reason: error.message }, "cannot read resources, trying again");
        },
        trouble(error) {
          if (error) troubles.set(scope, error.message);
          else troubles.delete(scope);
        },
      },
      { signal, labels: CLASS_LABEL, ...(namespace !== undefined && { namespace }) },
    );
  }

  scopes.forEach(observe);
  return {
    classOf: (resource) => classOf(resource, byNamespace.get(resource.metadata.namespace)),
    servedClasses: () => served,
    firstClusterWideClass: () =>
      all()
        .flatMap((one) => (one.isHeld && one.readsAll ? [one.class] : []))
        .sort()[0],
    isSynced: () => unsynced.size === 0,
    trouble: () => [...troubles.values()][0] ?? null,
  };
}

const keyOf = ({ metadata }: Resource): string => `${metadata.namespace}/${metadata.name}`;

/** Undefined: a Lease of somebody else, as a watch without selectors would tell of it. */
function classLeaseOf({ metadata, spec }: Resource): ClassLease | undefined {
  const className = metadata.labels?.[CLASS_LABEL];
  if (className === undefined || className === "") return undefined;
  return {
    namespace: metadata.namespace,
    class: className,
    isHeld: typeof spec?.holderIdentity === "string" && spec.holderIdentity !== "",
    readsAll: metadata.annotations?.[READS_ANNOTATION] === "all",
  };
}

/** Of several in one namespace the default class goes first, then the alphabet. */
function classesByNamespace(
  markers: readonly Pick<ClassLease, "namespace" | "class">[],
  own: ClassTrackerOptions["own"],
): ReadonlyMap<string, string> {
  const found = Map.groupBy([own, ...markers], ({ namespace }) => namespace);
  return new Map(
    [...found].map(([namespace, these]) => {
      const classes = these.map((one) => one.class).sort();
      return [namespace, classes.includes(DEFAULT_CLASS) ? DEFAULT_CLASS : (classes[0] ?? DEFAULT_CLASS)];
    }),
  );
}
