/** Entities that are entries in the resource of another entity: keys, targets and SNIs. */
import { kindOfCollection, type Resource, type ResourceCollection } from "@sluice/crds";
import { type Collection, type Entity, type ResourceKind, referencedId, resourceKinds } from "@sluice/model";
import type { Tables } from "../../tables/index.ts";
import { referenceKey } from "../../tables/tables.ts";
import type { ResourceView } from "../view/build-view.ts";

interface Nesting {
  readonly child: Collection;
  /** The member of the child that refers to the parent. */
  readonly member: string;
  /** The list in the parent's spec. */
  readonly list: string;
}

export const nestings: Readonly<Partial<Record<ResourceKind, Nesting>>> = {
  Consumer: { child: "keyauth_credentials", member: "consumer", list: "keyAuth" },
  Upstream: { child: "targets", member: "upstream", list: "targets" },
  Certificate: { child: "snis", member: "certificate", list: "snis" },
};

/** The resource that contains an entity, by the id of its own entity: the entity itself, or its parent. */
export function ownerOf(collection: Collection, entity: Entity): { readonly kind: ResourceKind; readonly id: string } {
  for (const kind of resourceKinds) {
    const nesting = nestings[kind];
    if (nesting?.child === collection) return { kind, id: referencedId(entity, nesting.member) ?? "" };
  }
  return { kind: kindOfCollection(collection as ResourceCollection), id: entity.id };
}

interface EntryChange {
  readonly nesting: Nesting;
  /** The parent's resource; undefined: it is to be created. */
  readonly resource: Resource | undefined;
  readonly parentId: string;
  readonly view: ResourceView;
  readonly next: Tables;
  /** `<collection> <id>` of the removed entities: an invalid entry is only removed if it is one of them. */
  readonly removed: ReadonlySet<string>;
  readonly write: (entity: Entity, before: unknown) => unknown;
}

export function childrenAfter({ child, member }: Nesting, parentId: string, next: Tables): readonly Entity[] {
  const ids = next.ids.get(referenceKey(child, { member, id: parentId })) ?? [];
  return ids.flatMap((id) => next.rows[child].get(id) ?? []);
}

/** The list after the write: unchanged and unreadable entries stay as they are. Undefined: nothing changes. */
export function changeEntries(change: EntryChange): readonly unknown[] | undefined {
  const { nesting, resource, parentId, view, next, removed, write } = change;
  const given = resource?.spec?.[nesting.list];
  const raw: readonly unknown[] = Array.isArray(given) ? given : [];
  const here = (resource ? view.within(resource) : []).filter(({ collection }) => collection === nesting.child);
  const known = new Set<string>();
  const kept = raw.map((entry, index): unknown => {
    const held = here.find(({ base }) => base[2] === index);
    // The entity with this id in an older resource takes precedence.
    if (!held || view.held(nesting.child, held.entity.id) !== held) return entry;
    const { id } = held.entity;
    if (held.isFaulty) return removed.has(`${nesting.child} ${id}`) ? undefined : entry;
    known.add(id);
    const now = next.rows[nesting.child].get(id);
    if (!now || referencedId(now, nesting.member) !== parentId) return undefined;
    return now === held.entity ? entry : write(now, entry);
  });
  const added = childrenAfter(nesting, parentId, next)
    .filter(({ id }) => !known.has(id))
    .map((entity) => write(entity, undefined));
  const entries = [...kept.filter((entry) => entry !== undefined), ...added];
  const isSame = entries.length === raw.length && entries.every((entry, index) => entry === raw[index]);
  return isSame ? undefined : entries;
}
