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
