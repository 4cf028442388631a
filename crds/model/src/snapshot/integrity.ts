/** References between entities: what is referred to must be there, before and after a change. */
import { type Collection, collections } from "../entities/index.ts";
import type { PerCollection } from "../entities/per-collection.ts";
import { references } from "../entities/references.ts";
import type { Violation } from "../violation.ts";
import { type Held, type Put, referred } from "./held.ts";

export interface Draft {
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
  const told = new Map<string, Violation>();
  for (const collection of collections) {
    const leaving = references[collection].filter(({ to }) => draft.gone[to].size > 0);
    if (leaving.length === 0) continue;
    const put = new Set(draft.puts[collection].map(({ entity }) => entity.id));
    for (const entity of draft.next[collection].values()) {
      if (put.has(entity.id)) continue;
      for (const { member, to } of leaving) {
        const path = draft.gone[to].get(referred(entity, member) ?? "");
        if (path === undefined) continue;
        told.set(`${collection}/${path.join("/")}`, { path, message: stranded(collection, to) });
      }
    }
  }
  return [...told.values()];
}

const stranded = (collection: Collection, to: Collection) =>
  `an existing '${collection}' entity references this '${to}' entity`;
