/** Referential integrity: every referenced entity must exist after a change. */

import type { Violation } from "@sluice/plugin-sdk";
import type { PerEndpointSection } from "../../document.ts";
import { type Collection, collections, type PerCollection, references } from "../../entities/index.ts";
import type { Snapshot } from "../../snapshot.ts";
import { type GetEntityIndex, referenceIndexKey } from "../entity-index.ts";
import { type EntityPut, referencedId, type StoredEntity } from "../stored-entity.ts";
import type { ChangedLists } from "./endpoints.ts";
import type { ChangedListeners } from "./listeners.ts";

/** The ids to remove from a collection, each with the path that names it in violations. */
export type Removals = (collection: Collection) => ReadonlyMap<string, Violation["path"]>;

export interface CheckedChange {
  readonly previous: Snapshot;
  /** Indexes of the entities before the change. */
  readonly lookups: GetEntityIndex;
  readonly puts: PerCollection<readonly EntityPut[]>;
  /** Ids of invalid entities in the change. References to these entities are not reported as further violations. */
  readonly faulty: PerCollection<ReadonlySet<string>>;
  readonly removals: Removals;
  readonly endpoints: PerEndpointSection<ChangedLists>;
  readonly listeners: ChangedListeners;
}

/** A change with its effect on the entities. */
export interface PendingChange extends CheckedChange {
  readonly next: PerCollection<ReadonlyMap<string, StoredEntity>>;
  /** Ids that the change removes, each with its path in the change. */
  readonly gone: PerCollection<ReadonlyMap<string, Violation["path"]>>;
}

/** One violation for each reference of an added or replaced entity to an entity that does not exist. */
export function findDanglingReferences({ next, puts, faulty }: PendingChange): readonly Violation[] {
  return collections.flatMap((collection) =>
    puts[collection].flatMap(({ entity, path }) =>
      references[collection].flatMap(({ member, to }) => {
        const id = referencedId(entity, member);
        if (id === undefined || next[to].has(id) || faulty[to].has(id)) return [];
        return [
          { path: [...path, member], message: `invalid reference '${member}: ${id}' (no such entry in '${to}')` },
        ];
      }),
    ),
  );
}

/**
 * Removals of entities that remaining entities still reference: one violation for each removed entity and referring
 * collection.
 */
export function findBlockedRemovals(draft: PendingChange): readonly Violation[] {
  return collections.flatMap((collection) => {
    const leaving = references[collection].filter(({ to }) => draft.gone[to].size > 0);
    if (leaving.length === 0) return [];
    const { referrers } = draft.lookups(collection);
    const released = releasedBy(collection, draft);
    return leaving.flatMap(({ member, to }) =>
      [...draft.gone[to]].flatMap(([id, path]) => {
        const key = referenceIndexKey(member, id);
        const staying = (referrers.get(key) ?? 0) - (released.get(key) ?? 0);
        return staying > 0 ? [{ path, message: stranded(collection, to) }] : [];
      }),
    );
  });
}

/** Number of references, by `referenceIndexKey`, held by the old versions of removed and replaced entities. */
function releasedBy(collection: Collection, { previous, puts, gone }: PendingChange): ReadonlyMap<string, number> {
  const released = new Map<string, number>();
  for (const id of new Set([...puts[collection].map(({ entity }) => entity.id), ...gone[collection].keys()])) {
    const before: StoredEntity | undefined = previous[collection].get(id);
    for (const { member } of before ? references[collection] : []) {
      const to = before && referencedId(before, member);
      if (to === undefined) continue;
      const key = referenceIndexKey(member, to);
      released.set(key, (released.get(key) ?? 0) + 1);
    }
  }
  return released;
}

const stranded = (collection: Collection, to: Collection) =>
  `an existing '${collection}' entity references this '${to}' entity`;
