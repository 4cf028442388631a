/** Keys of resources in maps. */
import type { Kind, Ref, Resource } from "./resource.ts";

/** `<namespace>/<name>`: identifies a resource among those of its kind. */
export const namespacedName = (namespace: string, name: string): string => `${namespace}/${name}`;

export const resourceKey = ({ metadata }: Resource): string => namespacedName(metadata.namespace, metadata.name);

/** The `resourceKey` of a resource of a kind without namespaces. */
export const clusterScopedKey = (name: string): string => resourceKey({ metadata: { name } } as Resource);

/** `<kind>/<namespace>/<name>`: identifies a resource among those of all kinds. */
export const refKey = ({ kind, namespace, name }: Ref): string => `${kind}/${namespace}/${name}`;

/** Splits a `refKey` into the kind and the key within the kind. */
export function parseRefKey(key: string): { readonly kind: Kind; readonly key: string } {
  const end = key.indexOf("/");
  return { kind: key.slice(0, end) as Kind, key: key.slice(end + 1) };
}
