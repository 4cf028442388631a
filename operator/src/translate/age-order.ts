/** Who was there first. */
import type { Metadata, Resource } from "@sluice/crds";

/** Sorts the older first. Those of one second: by namespace and name, so that everybody agrees. */
export function byAge({ metadata: one }: Resource, { metadata: other }: Resource): number {
  return (
    compare(one.creationTimestamp ?? "", other.creationTimestamp ?? "") ||
    compare(one.namespace, other.namespace) ||
    compare(one.name, other.name)
  );
}

const compare = (a: Metadata["name"], b: Metadata["name"]): number => (a === b ? 0 : a < b ? -1 : 1);

/**
 * The resources that are meant, the older first. Remembers the order from one call to the next: sorting what is almost
 * sorted costs a fraction, and with every change of anything all are sorted.
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
    entries.sort((one, other) => byAge(one.resource, other.resource));
    order = entries.map(({ key }) => key);
    return entries.map(({ resource }) => resource).filter(isMeant);
  };
}
