/** What a write left behind, in the words of the wait for the nodes. */
import type { Kind, Metadata, Resource } from "@sluice/crds";
import type { Written } from "@sluice/model";

export function writtenAs(kind: Kind, { metadata }: Resource): Written {
  const { namespace, name, uid, generation, resourceVersion } = metadata;
  return {
    kind,
    namespace,
    name,
    ...(uid !== undefined && { uid }),
    // Status changes move the version; Secrets have nothing else.
    ...(generation !== undefined ? { generation } : resourceVersion !== undefined && { resourceVersion }),
  };
}

export function removedAs(kind: Kind, { namespace, name, uid }: Pick<Metadata, "namespace" | "name" | "uid">): Written {
  return { kind, namespace, name, ...(uid !== undefined && { uid }), deleted: true };
}
