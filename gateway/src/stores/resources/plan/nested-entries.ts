/** Entities that are entries in the resource of another entity: credentials, targets and SNIs. */
import { type ChildList, childLists, kindOfCollection, type Resource, type ResourceCollection } from "@sluice/crds";
import { type Collection, type Entity, type ResourceKind, referencedId, resourceKinds } from "@sluice/model";
import type { Tables } from "../../tables/index.ts";
import { referenceKey } from "../../tables/tables.ts";
import type { ResourceView } from "../view/build-view.ts";

/**
 * The resource that contains an entity: its kind, and the id of the entity that it represents (the given entity or its
 * parent).
 */
export function ownerOf(collection: Collection, entity: Entity): { readonly kind: ResourceKind; readonly id: string } {
  for (const kind of resourceKinds) {
    const child = childLists[kind].find((list) => list.collection === collection);
    if (child) return { kind, id: referencedId(entity, child.parent) ?? "" };
  }
  return { kind: kindOfCollection(collection as ResourceCollection), id: entity.id };
}

interface EntryChange {
  readonly list: ChildList;
  /** The parent's resource; undefined: it is to be created. */
  readonly resource: Resource | undefined;
  readonly parentId: string;
  readonly view: ResourceView;
  readonly next: Tables;
  /** `<collection> <id>` of the removed entities: an invalid entity is only removed if it is one of them. */
  readonly removed: ReadonlySet<string>;
  readonly write: (entity: Entity, before: unknown) => unknown;
}

export function childrenAfter({ collection, parent }: ChildList, parentId: string, next: Tables): readonly Entity[] {
  const ids = next.ids.get(referenceKey(collection, { member: parent, id: parentId })) ?? [];
  return ids.flatMap((id) => next.rows[collection].get(id) ?? []);
}

/** The list after the write: unchanged and unreadable entries stay as they are. Undefined: nothing changes. */
export function changeEntries(change: EntryChange): readonly unknown[] | undefined {
  const { list, resource, parentId, view, next, removed, write } = change;
  const { collection, parent } = list;
  const given = resource?.spec?.[list.list];
  const raw: readonly unknown[] = Array.isArray(given) ? given : [];
  const here = (resource ? view.within(resource) : []).filter(
    (held) => held.collection === collection && held.base[1] === list.list,
  );
  const known = new Set<string>();
  const kept = raw.map((entry, index): unknown => {
    const held = here.find(({ base }) => base[2] === index);
    if (!held) return entry;
    const { id } = held.entity;
    const isRemoved = removed.has(`${collection} ${id}`);
    const first = view.held(collection, id);
    // Another entry has the same id and takes precedence. If that entry is in this resource and is removed, this one is
    // removed with it.
    if (first !== held) return first?.resource === resource && isRemoved ? undefined : entry;
    if (held.isFaulty) return isRemoved ? undefined : entry;
    known.add(id);
    const now = next.rows[collection].get(id);
    if (!now || referencedId(now, parent) !== parentId) return undefined;
    return now === held.entity ? entry : write(now, entry);
  });
  const added = childrenAfter(list, parentId, next)
    .filter(({ id }) => !known.has(id))
    .map((entity) => write(entity, undefined));
  const entries = [...kept.filter((entry) => entry !== undefined), ...added];
  const isSame = entries.length === raw.length && entries.every((entry, index) => entry === raw[index]);
  return isSame ? undefined : entries;
}
