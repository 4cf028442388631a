/**
 * Ids derived from names or content, equal in every form of the configuration. The ids derived from names are also
 * equal to the ids of Kong's declarative files.
 */
import { createHash } from "node:crypto";
import { type Collection, collections, entities, entityNameOf } from "./entities/index.ts";

/** The root namespace that Kong's declarative files, go-kong and the ingress controller share. */
const ROOT = "fd02801f-0957-4a15-a55a-c8d9606f30b5";

/** UUID of version 5 (RFC 9562 section 5.5): the same name in the same namespace always gives the same id. */
export function uuidV5(namespace: string, name: string): string {
  const hash = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name, "utf8");
  const bytes = hash.digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const namespaces = Object.fromEntries(collections.map((name) => [name, uuidV5(ROOT, name)])) as Record<
  Collection,
  string
>;

/** The id of an entity by its key (`EntityFacts.key`), such as a service's name or a consumer's username. */
export const deriveId = (collection: Collection, key: string): string => uuidV5(namespaces[collection], key);

/**
 * The id derived from an entity's own members: from its name (and its parent, if names are unique only within parents).
 * Without a name, it is derived from the parent and the content. If the collection has no key, but has unique members,
 * only these members count as content.
 */
export function derivedIdOf(collection: Collection, members: Readonly<Record<string, unknown>>): string {
  const { within, key, unique, uniqueTogether = unique } = entities[collection];
  const name = entityNameOf(collection, members);
  const parents = within === undefined ? ["service", "route", "consumer", "consumer_group"] : [within];
  const parent = parents.map((member) => Object(members[member]).id).find((id) => typeof id === "string") ?? null;
  // The members that identify an entity without a key.
  const identifying = key === null ? uniqueTogether.map((member) => [member, members[member]]) : [];
  if (name === undefined)
    return deriveNamelessId(collection, parent, identifying.length > 0 ? Object.fromEntries(identifying) : members);
  return within === undefined ? deriveId(collection, name) : uuidV5(uuidV5(parent ?? ROOT, collection), name);
}

/**
 * The id of an entity without a name: from its parent's id (null for none) and its content, whatever the order of
 * members. Ids, timestamps, `_sluice` and unset members do not count as content.
 */
export function deriveNamelessId(
  collection: Collection,
  parentId: string | null,
  content: Readonly<Record<string, unknown>>,
): string {
  const namespace = parentId === null ? namespaces[collection] : uuidV5(parentId, collection);
  const { id: _id, created_at: _created, updated_at: _updated, _sluice: _extras, ...rest } = content;
  return uuidV5(namespace, canonicalJson(rest));
}

/** JSON with sorted members and without unset ones: equal content gives equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== null && member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(",")}}`;
}
