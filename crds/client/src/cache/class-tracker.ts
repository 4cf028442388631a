/**
 * Determines the class of a resource, and thus its operator: `spec.class`, or else the class of its namespace according
 * to the operators' Leases. An operator's Lease is in the operator's home namespace, and its label names the operator's
 * class. A Lease with the same label in another namespace assigns that namespace to the operator too. The class of a
 * namespace therefore depends only on objects in that namespace. Every operator that may read the namespace computes
 * the same class, and no one outside the namespace can change it.
 */
import { CLASS_LABEL, DEFAULT_CLASS } from "@sluice/model";
import type { Resource } from "../resource.ts";
import { classOf } from "../translate/identity.ts";
import { createResourceCache, type ResourceCacheOptions } from "./resource-cache.ts";

/** Annotation of an operator's Lease: `all` when the operator reads all namespaces. */
export const READS_ANNOTATION = "sluice.dev/reads";

export interface ClassTrackerOptions
  extends Pick<ResourceCacheOptions<"Lease">, "client" | "namespaces" | "signal" | "log"> {
  /** The class and home namespace of this process. They apply even before the operator's Lease exists. */
  readonly own: { readonly class: string; readonly namespace: string };
  /**
   * Called for every event until all Leases have been listed. After that, called when resources without `spec.class` in
   * the namespaces `moved` get a different class, or when the served classes change.
   */
  readonly onChange: (moved: readonly string[]) => void;
}

export type ClassTracker = ReturnType<typeof trackClasses>;

interface ClassLease {
  readonly namespace: string;
  readonly class: string;
  readonly isHeld: boolean;
  readonly readsAll: boolean;
}

export function trackClasses({ own, namespaces, onChange, ...options }: ClassTrackerOptions) {
  let synced = false;
  let leases: readonly ClassLease[] = [];
  let byNamespace = classesByNamespace([], own);
  let served: readonly string[] = [own.class];
  const cache = createResourceCache({
    ...options,
    kinds: ["Lease"],
    namespaces: [...new Set(namespaces)],
    labels: CLASS_LABEL,
    onChange() {
      const [before, servedBefore, isNews] = [byNamespace, served, !synced];
      synced = cache.unsynced().length === 0;
      leases = [...cache.resources.Lease.values()].flatMap((lease) => classLeaseOf(lease) ?? []);
      byNamespace = classesByNamespace(leases, own);
      served = [...new Set([own.class, ...leases.flatMap((one) => (one.isHeld ? [one.class] : []))])].sort();
      const moved = [...new Set([...before.keys(), ...byNamespace.keys()])].filter(
        (namespace) => before.get(namespace) !== byNamespace.get(namespace),
      );
      if (isNews || moved.length > 0 || `${served}` !== `${servedBefore}`) onChange(moved);
    },
  });
  return {
    /** The class that the resource belongs to. */
    classOf: (resource: Pick<Resource, "metadata" | "spec">): string =>
      classOf(resource, byNamespace.get(resource.metadata.namespace)),
    /** Classes that an operator serves now, including this process's own, in alphabetical order. */
    servedClasses: () => served,
    /** The alphabetically first class with a running operator that reads all namespaces; undefined if there is none. */
    firstClusterWideClass: () => leases.flatMap((one) => (one.isHeld && one.readsAll ? [one.class] : [])).sort()[0],
    isSynced: () => synced,
    /** Why the last read failed; null if it succeeded. */
    failure: () => cache.failures()[0] ?? null,
  };
}

/** Undefined for a Lease with an empty class label, or without the label (from a watch that ignores selectors). */
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

/** The class of each namespace: of several classes, the default class or, without it, the alphabetically first. */
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
