/** Replaces references by a unique name with references by id. */
import { entities, type Reference } from "@sluice/model";
import type { RawMembers } from "../http/decode-body.ts";
import { unresolvedReferences } from "../http/errors.ts";
import type { EntityReader } from "../requests.ts";

/** @throws HttpError 400 with all names that do not exist. */
export async function resolveReferences(
  raw: RawMembers,
  references: readonly Reference[],
  store: EntityReader,
): Promise<RawMembers> {
  const resolved: Record<string, { readonly id: string }> = {};
  const unresolved = [];
  for (const { member, to } of references) {
    const named = nameIn(Object.hasOwn(raw, member) ? raw[member] : undefined, entities[to].unique);
    if (!named) continue;
    const found = await store.find(to, { member: named.by, value: named.value });
    if (found) resolved[member] = { id: found.id };
    else unresolved.push({ member, to, ...named });
  }
  if (unresolved.length > 0) throw unresolvedReferences(unresolved);
  return { ...raw, ...resolved };
}

/** Longer than any name: longer text is neither looked up nor shown in the error. */
const MAX_NAME = 512;

/** An id takes precedence; other values are left for the check to report. */
function nameIn(reference: unknown, unique: readonly string[]): { by: string; value: string } | undefined {
  if (typeof reference !== "object" || reference === null || Array.isArray(reference)) return undefined;
  const members = reference as RawMembers;
  if (Object.hasOwn(members, "id") && members.id !== null) return undefined;
  const by = unique.find((member) => Object.hasOwn(members, member) && typeof members[member] === "string");
  const value = by === undefined ? "" : String(members[by]);
  return by === undefined || value.length > MAX_NAME ? undefined : { by, value };
}
