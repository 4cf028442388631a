/** Resources for tests, by default of the Gateway API. */
import type { Resource } from "@sluice/crds";

const API = "gateway.networking.k8s.io/v1";

/** A resource in the namespace `shop`. */
export function namespacedResource(kind: string, name: string, more: Partial<Resource> = {}): Resource {
  const { apiVersion = API, metadata, ...rest } = more;
  const of = {
    name,
    namespace: "shop",
    uid: `${kind} ${name}`,
    creationTimestamp: "2026-01-01T00:00:00Z",
    generation: 1,
  };
  return { apiVersion, kind, metadata: { ...of, ...metadata }, ...rest };
}

/** A resource of a kind without namespaces. */
export function clusterScopedResource(kind: string, name: string, more: Partial<Resource> = {}): Resource {
  const { metadata, ...rest } = namespacedResource(kind, name, more);
  const { namespace: _, ...unscoped } = metadata;
  return { ...rest, metadata: unscoped as Resource["metadata"] };
}
