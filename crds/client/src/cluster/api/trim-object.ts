/** An object of the API as a resource: named (items of lists of core kinds are not), without what nobody here reads. */
import { isSluiceKind, kindNames } from "../../kinds.ts";
import type { Kind, Metadata, Resource } from "../../resource.ts";
import { internConditionStrings } from "./intern-strings.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * @param options.bookkeeping Whether our own kinds keep their managedFields and kubectl's copy of what it applied: a
 *   removal asks who owns the spec. Default true. Elsewhere managedFields are dead weight.
 */
export function trimObject(kind: Kind, object: Partial<Resource>, { bookkeeping = true } = {}): Resource {
  const { apiVersion, kind: name } = kindNames[kind];
  const metadata = { ...object.metadata } as Metadata;
  internConditionStrings(object.status);
  if (isSluiceKind(kind) && bookkeeping) return { ...object, apiVersion, kind: name, metadata };
  const { managedFields: _, ...rest } = metadata;
  return { ...object, apiVersion, kind: name, metadata: bookkeeping ? rest : withoutLastApplied(rest) };
}

function withoutLastApplied(metadata: Metadata): Metadata {
  if (metadata.annotations?.[LAST_APPLIED] === undefined) return metadata;
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations;
  return { ...metadata, annotations };
}
