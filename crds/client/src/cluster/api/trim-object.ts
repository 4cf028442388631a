/**
 * Turns an API object into a resource: sets apiVersion and kind, which list items of core kinds lack, and drops members
 * that are not read.
 */
import { isSluiceKind, kindNames } from "../../kinds.ts";
import type { Kind, Metadata, Resource } from "../../resource.ts";
import { internConditionStrings } from "./intern-strings.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * @param options.bookkeeping Whether Sluice's own kinds keep managedFields and kubectl's last-applied annotation: a
 * removal needs them to find the spec's owners. Default true. Otherwise managedFields only cost memory.
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
