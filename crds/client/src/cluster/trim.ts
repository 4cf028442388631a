/** An object of the API as a resource: named (items of lists of core kinds are not), without what nobody here reads. */
import { isOurs, kindNames } from "../kinds.ts";
import type { Kind, Metadata, Resource } from "../resource.ts";
import { shareTexts } from "./alike.ts";

const KUBECTL = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * @param options.bookkeeping Whether our own kinds keep their managedFields and kubectl's copy of what it applied: a
 *   removal asks who owns the spec. Default true. Elsewhere managedFields are dead weight.
 */
export function trim(kind: Kind, object: Partial<Resource>, { bookkeeping = true } = {}): Resource {
  const { apiVersion, kind: name } = kindNames[kind];
  const metadata = { ...object.metadata } as Metadata;
  shareTexts(object.status);
  if (isOurs(kind) && bookkeeping) return { ...object, apiVersion, kind: name, metadata };
  const { managedFields: _, ...rest } = metadata;
  return { ...object, apiVersion, kind: name, metadata: bookkeeping ? rest : withoutCopy(rest) };
}

function withoutCopy(metadata: Metadata): Metadata {
  if (metadata.annotations?.[KUBECTL] === undefined) return metadata;
  const { [KUBECTL]: _, ...annotations } = metadata.annotations;
  return { ...metadata, annotations };
}
