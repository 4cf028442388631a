/** Who owns what of a resource, from its managedFields. A directory has none: everything is everybody's. */
import type { Metadata, Resource } from "@sluice/crds";
import type { Owner } from "../store.ts";

/** The field manager of everything that the admin listener writes. */
export const MANAGER = "sluice-admin";

type Fields = Readonly<Record<string, unknown>>;
type Entry = NonNullable<Metadata["managedFields"]>[number];

const fieldsOf = (entry: Entry | undefined, ...path: readonly string[]): Fields =>
  path.reduce<Fields>((fields, step) => Object(fields[`f:${step}`]), Object(entry?.fieldsV1));

const entriesOf = ({ metadata }: Resource): readonly Entry[] =>
  (metadata.managedFields ?? []).filter(({ subresource }) => !subresource);

/** Other managers of the spec, or of one member of it. */
export function otherOwners(resource: Resource, member?: string): readonly Owner[] {
  return entriesOf(resource).flatMap((entry) => {
    if (entry.manager === undefined || entry.manager === MANAGER) return [];
    const spec = fieldsOf(entry, "spec");
    const owns = member === undefined ? Object.keys(spec).length > 0 : Object.hasOwn(spec, `f:${member}`);
    return owns ? [{ manager: entry.manager, field: member === undefined ? ".spec" : `.spec.${member}` }] : [];
  });
}

/**
 * The part of a resource that is ours to apply: all that we have applied before. Leaving any of it out would drop it
 * (house decision 5), and applying more would make us owners of what other people keep.
 */
export function ownedPart(resource: Resource): Pick<Resource, "apiVersion" | "kind" | "metadata" | "spec"> {
  const { apiVersion, kind, metadata, spec = {} } = resource;
  const { name, namespace, labels, annotations } = metadata;
  if (metadata.managedFields === undefined) {
    return { apiVersion, kind, metadata: { name, namespace, labels, annotations }, spec };
  }
  const ours = entriesOf(resource).find(({ manager, operation }) => manager === MANAGER && operation === "Apply");
  const pick = <Value>(members: Readonly<Record<string, Value>>, ...path: readonly string[]) => {
    const owned = fieldsOf(ours, ...path);
    return Object.fromEntries(Object.entries(members).filter(([member]) => Object.hasOwn(owned, `f:${member}`)));
  };
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      labels: pick(labels ?? {}, "metadata", "labels"),
      annotations: pick(annotations ?? {}, "metadata", "annotations"),
    },
    spec: pick(spec, "spec"),
  };
}
