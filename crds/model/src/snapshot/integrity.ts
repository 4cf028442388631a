/** References between entities: what is referred to must be there, before and after a change. */
import { type Collection, collections } from "../entities/index.ts";
import type { PerCollection } from "../entities/per-collection.ts";
import { references } from "../entities/references.ts";
import type { Violation } from "../violation.ts";
import { type Held, type Put, referred } from "./held.ts";
import { type Lookups, referenceKey } from "./lookup.ts";

export interface Draft {
  /** All entities as they were. */
  readonly previous: PerCollection<ReadonlyMap<string, Held>>;
  /** Of what was. */
  readonly lookups: Lookups;
  /** All entities as they will be. */
  readonly next: PerCollection<ReadonlyMap<string, Held>>;
  readonly puts: PerCollection<readonly Put[]>;
  /** Ids that were there and will not be, with their place in the change. */
  readonly gone: PerCollection<ReadonlyMap<string, Violation["path"]>>;
  /** Ids of entities that have faults of their own: a reference to one is not a second fault. */
  readonly faulty: PerCollection<ReadonlySet<string>>;
}

/** References of put entities to nothing. */
export function findDangling({ next, puts, faulty }: Draft): readonly Violation[] {
  return collections.flatMap((collection) =>
    puts[collection].flatMap(({ entity, path }) =>
      references[collection].flatMap(({ member, to }) => {
        const id = referred(entity, member);
        if (id === undefined || next[to].has(id) || faulty[to].has(id)) return [];
        return [
          { path: [...path, member], message: `invalid reference '${member}: ${id}' (no such entry in '${to}')` },
        ];
      }),
    ),
  );
}

/** Removals of what entities that stay still refer to: one for each removed entity and collection. */
export function findStranded(draft: Draft): readonly Violation[] {
  return collections.flatMap((collection) => {
    const leaving = references[collection].filter(({ to }) => draft.gone[to].size > 0);
    if (leaving.length === 0) return [];
    const { referrers } = draft.lookups(collection);
    const released = releasedBy(collection, draft);
    return leaving.flatMap(({ member, to }) =>
      [...draft.gone[to]].flatMap(([id, path]) => {
        const key = referenceKey(member, id);
        const staying = (referrers.get(key) ?? 0) - (released.get(key) ?? 0);
        return staying > 0 ? [{ path, message: stranded(collection, to) }] : [];
      }),
    );
  });
}

/** How many references the entities held that will be gone or are put anew, by `referenceKey`. */
function releasedBy(collection: Collection, { previous, puts, gone }: Draft): ReadonlyMap<string, number> {
  const released = new Map<string, number>();
  for (const id of new Set([...puts[collection].map(({ entity }) => entity.id), ...gone[collection].keys()])) {
    const before = previous[collection].get(id);
    for (const { member } of before ? references[collection] : []) {
      const to = before && referred(before, member);
      if (to === undefined) continue;
      const key = referenceKey(member, to);
      released.set(key, (released.get(key) ?? 0) + 1);
    }
  }
  return released;
}

const stranded = (collection: Collection, to: Collection) =>
  `an existing '${collection}' entity references this '${to}' entity`;
