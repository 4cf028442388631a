/**
 * Turns an API object into a resource: sets apiVersion and kind, which list items of core kinds lack, and drops
 * metadata that is not read.
 */
import { isSluiceKind, kindNames } from "../../kinds.ts";
import type { Kind, Metadata, Resource } from "../../resource.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * @param options.bookkeeping Whether resources keep kubectl's last-applied annotation, and Sluice's own kinds also
 * managedFields, by which the admin listener finds the owners of fields. Default true. Other kinds never keep
 * managedFields, to save memory.
 */
export function trimObject(kind: Kind, object: Partial<Resource>, { bookkeeping = true } = {}): Resource {
  const { apiVersion, kind: name } = kindNames[kind];
  const metadata = { ...object.metadata } as Metadata;
  internConditionStrings(object.status);
  if (isSluiceKind(kind) && bookkeeping) return { ...object, apiVersion, kind: name, metadata };
  const { managedFields, ...rest } = metadata;
  if (bookkeeping) return { ...object, apiVersion, kind: name, metadata: rest };
  const lastManager = isSluiceKind(kind) ? lastManagerIn(managedFields) : undefined;
  const kept = { ...withoutLastApplied(rest), ...(lastManager !== undefined && { lastManager }) };
  return { ...object, apiVersion, kind: name, metadata: kept };
}

/** Times of managedFields are in UTC and have the same length, so they are compared as strings. */
function lastManagerIn(managedFields: Metadata["managedFields"] = []): string | undefined {
  let last: { readonly manager?: string; readonly time?: string } | undefined;
  for (const entry of managedFields) if (!entry.subresource && (entry.time ?? "") >= (last?.time ?? "")) last = entry;
  return last?.manager && intern(last.manager);
}

function withoutLastApplied(metadata: Metadata): Metadata {
  if (metadata.annotations?.[LAST_APPLIED] === undefined) return metadata;
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations;
  return { ...metadata, annotations };
}

/** Strings that many resources have in common, such as condition reasons: one copy instead of one per resource. */
const interned = new Map<string, string>();
/**
 * Maximum number of shared strings. All are dropped when it is reached, because so many different strings cannot be
 * common values.
 */
const MAX_STRINGS = 4096;
/** Characters. Longer strings are not shared, because each is specific to one resource. */
const MAX_LENGTH = 200;

function intern(text: string): string {
  if (text.length > MAX_LENGTH) return text;
  const known = interned.get(text);
  if (known !== undefined) return known;
  if (interned.size >= MAX_STRINGS) interned.clear();
  interned.set(text, text);
  return text;
}

/** Replaces the strings of a status's conditions by shared copies, in place, to avoid allocating new objects. */
export function internConditionStrings(status: Resource["status"]): void {
  if (!Array.isArray(status?.conditions)) return;
  for (const condition of status.conditions as Record<string, unknown>[])
    for (const name in condition) {
      const value = condition[name];
      if (typeof value === "string") condition[name] = intern(value);
    }
}
