/** The order of resources by age. */
import type { Metadata, Resource } from "../../resource.ts";

/** The members that decide the order. */
export interface AgedObject {
  readonly metadata: Pick<Metadata, "name" | "namespace" | "creationTimestamp">;
}

/**
 * Sorts older resources first. Resources of the same second are sorted by namespace and name, so that every replica
 * agrees.
 */
export function compareByAge({ metadata: one }: AgedObject, { metadata: other }: AgedObject): number {
  return (
    compare(one.creationTimestamp ?? "", other.creationTimestamp ?? "") ||
    compare(one.namespace, other.namespace) ||
    compare(one.name, other.name)
  );
}

const compare = (a: Metadata["name"], b: Metadata["name"]): number => (a === b ? 0 : a < b ? -1 : 1);

/**
 * Returns a function that returns the resources that `isMeant` accepts, the oldest first. The function keeps the order
 * between calls, because every full translation sorts all resources, and an almost sorted list is sorted much faster.
 */
export function createAgeOrder(
  isMeant: (resource: Resource) => boolean,
): (resources: ReadonlyMap<string, Resource>) => readonly Resource[] {
  let order: readonly string[] = [];
  return (resources) => {
    const entries: { readonly key: string; readonly resource: Resource }[] = [];
    const add = (key: string, resource: Resource | undefined) => resource && entries.push({ key, resource });
    for (const key of order) add(key, resources.get(key));
    if (entries.length < resources.size) {
      const known = new Set(order);
      for (const [key, resource] of resources) if (!known.has(key)) add(key, resource);
    }
    entries.sort((one, other) => compareByAge(one.resource, other.resource));
    order = entries.map(({ key }) => key);
    return entries.map(({ resource }) => resource).filter(isMeant);
  };
}
