/** Formats an entity for a file: unchanged parts as they were, changed and new parts in the shortest form. */
import { isDeepStrictEqual } from "node:util";
import { type Collection, checkEntity, type Entity, entityNameOf, minimalEntity, references } from "@sluice/model";
import { type FileNode, type FileTree, type Members, type NodeParent, nodeKey } from "./tree.ts";

interface ItemOptions {
  readonly collection: Collection;
  readonly entity: Entity;
  readonly parent: NodeParent | null;
  readonly tree: FileTree;
}

/** Members of an item in the file that are not members of the entity. */
const remarks = ["_comment", "_ignore", "_sluice"];

export function newItem({ collection, entity, parent, tree }: ItemOptions): Members {
  return withReferences(minimalEntity(collection, entity), { collection, entity, parent, tree });
}

/** The members of an entity that is in the file already: members whose value does not change stay as written. */
export function editedItem(before: FileNode, item: ItemOptions): Members {
  const { collection, entity } = item;
  const brief = minimalEntity(collection, entity);
  const merged = merge(before.members, { brief, was: membersOf(before.entity), is: membersOf(entity) });
  const means = (members: Members) => {
    const given = references[collection].map(({ member }) => [member, membersOf(entity)[member]]);
    const { _sluice: _, ...filled } = Object(
      checkEntity(collection, { ...members, ...Object.fromEntries(given) }).value,
    );
    return isDeepStrictEqual(filled, entity);
  };
  const kept = Object.entries(before.members).filter(([name]) => remarks.includes(name));
  const anew = { ...Object.fromEntries(kept), ...brief };
  const fitting = [merged, { id: entity.id, ...merged }].find(means) ?? anew;
  return withReferences(fitting, item, before);
}

const membersOf = (entity: Entity): Members => entity as unknown as Members;

interface Change {
  readonly brief: Members;
  readonly was: Members;
  readonly is: Members;
}

/** Members that are equal in `was` and `is` stay as written; the others are copied from `brief`. */
function merge(written: Members, { brief, was, is }: Change): Members {
  const merged: Record<string, unknown> = { ...written };
  for (const name of Object.keys(is)) {
    const [before, after] = [was[name], is[name]];
    if (isDeepStrictEqual(before, after)) continue;
    const old = written[name];
    if (isRecord(before) && isRecord(after) && isRecord(old)) {
      merged[name] = merge(old, { brief: isRecord(brief[name]) ? brief[name] : {}, was: before, is: after });
    } else if (Object.hasOwn(brief, name)) merged[name] = brief[name];
    else delete merged[name];
  }
  // A service's `url` stands for four members.
  const parts = ["protocol", "host", "port", "path"];
  if (!Object.hasOwn(written, "url") || parts.every((name) => isDeepStrictEqual(was[name], is[name]))) return merged;
  for (const name of ["url", ...parts]) delete merged[name];
  return { ...merged, ...Object.fromEntries(parts.flatMap((name) => (name in brief ? [[name, brief[name]]] : []))) };
}

/**
 * The members with references by name, or by id if the referenced entity has no usable name. An unchanged reference
 * stays as written. The reference to the parent is left out.
 */
function withReferences(
  members: Members,
  { collection, entity, parent, tree }: ItemOptions,
  before?: FileNode,
): Members {
  const formatted: Record<string, unknown> = { ...members };
  for (const { member, to } of references[collection]) {
    const id = idIn(entity, member);
    if (id === undefined || parent?.member === member) delete formatted[member];
    else if (before && idIn(before.entity, member) === id && before.members[member] !== undefined)
      formatted[member] = before.members[member];
    else formatted[member] = referenceText(tree, to, id);
  }
  return formatted;
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

export function referenceText(tree: FileTree, to: Collection, id: string): string {
  const name = entityNameOf(to, tree.nodes.get(nodeKey(to, id))?.entity ?? {});
  return name === undefined || UUID.test(name) ? id : name;
}

export const idIn = (entity: Entity, member: string): string | undefined =>
  (membersOf(entity)[member] as { readonly id: string } | null | undefined)?.id;

const isRecord = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);
