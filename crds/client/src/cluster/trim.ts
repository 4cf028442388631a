/** An object of the API as a resource: named (items of lists of core kinds are not), without what nobody here reads. */
import { isOurs, kindNames } from "../kinds.ts";
import type { Kind, Resource } from "../resource.ts";

/** managedFields stay on our own kinds, because a removal asks who owns the spec; elsewhere they are dead weight. */
export function trim(kind: Kind, object: Partial<Resource>): Resource {
  const { apiVersion, kind: name } = kindNames[kind];
  const metadata = { ...object.metadata } as Resource["metadata"];
  if (isOurs(kind)) return { ...object, apiVersion, kind: name, metadata };
  const { managedFields: _, ...rest } = metadata;
  return { ...object, apiVersion, kind: name, metadata: rest };
}
