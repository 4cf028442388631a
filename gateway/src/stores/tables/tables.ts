/** Entities in memory, indexed for every lookup. Pure: a write returns new tables. */
import { type Collection, collections, type Entity, referencedId, references } from "@sluice/model";
import { claimKeysOf } from "./claims.ts";
import { MapDraft, SharedMap } from "./shared-map.ts";

export interface PlacedEntity {
  readonly collection: Collection;
  readonly entity: Entity;
}

export interface Tables {
  /** By id. */
  readonly rows: Readonly<Record<Collection, SharedMap<Entity>>>;
  /** By `claimKey`; of several entities with the same claim, the first. */
  readonly claims: SharedMap<PlacedEntity>;
  /** By `referenceKey`: the ids of the entities that refer to an entity. */
  readonly referring: SharedMap<SharedMap<true>>;
  /**
   * Invalid entities by the `claimKey` of each claim: neither found nor listed, but they keep id and name, and can be
   * removed.
   */
  readonly faulty: SharedMap<PlacedEntity>;
}

const ofCollections = <Value>(make: (collection: Collection) => Value): Record<Collection, Value> =>
  Object.fromEntries(collections.map((collection) => [collection, make(collection)])) as Record<Collection, Value>;

export const referenceKey = (collection: Collection, { member, id }: { member: string; id: string }): string =>
  `${collection} ${member} ${id}`;

const none: Tables = {
  rows: ofCollections(() => new SharedMap<Entity>()),
  claims: new SharedMap(),
  referring: new SharedMap(),
  faulty: new SharedMap(),
};

/**
 * Of two entities with the same id or claim, the first one counts.
 *
 * @param faulty By the `claimKey` of their ids and names, as in `Tables`.
 */
export function createTables(
  entities: Iterable<PlacedEntity>,
  faulty: ReadonlyMap<string, PlacedEntity> = new Map(),
): Tables {
  const draft = new TablesDraft({ ...none, faulty: new SharedMap(faulty) });
  for (const placed of entities) if (!draft.get(placed.collection, placed.entity.id)) draft.put(placed);
  return draft.finish();
}

/** Tables that are being changed. */
export class TablesDraft {
  readonly claims: MapDraft<PlacedEntity>;
  readonly faulty: MapDraft<PlacedEntity>;
  readonly #rows: Readonly<Record<Collection, MapDraft<Entity>>>;
  readonly #referring: MapDraft<SharedMap<true>>;
  /** Changes to the referring ids, by `referenceKey`. */
  readonly #moved = new Map<string, MapDraft<true>>();

  constructor({ rows, claims, referring, faulty }: Tables) {
    this.#rows = ofCollections((collection) => new MapDraft(rows[collection]));
    this.claims = new MapDraft(claims);
    this.#referring = new MapDraft(referring);
    this.faulty = new MapDraft(faulty);
  }

  get(collection: Collection, id: string): Entity | undefined {
    return this.#rows[collection].get(id);
  }

  /** Entities of a collection whose member refers to this id, ordered by id. */
  referringTo(collection: Collection, by: { member: string; id: string }): readonly Entity[] {
    const key = referenceKey(collection, by);
    const ids = this.#moved.get(key)?.finish() ?? this.#referring.get(key);
    return (ids?.sortedKeys() ?? []).flatMap((id) => this.get(collection, id) ?? []);
  }

  put(placed: PlacedEntity): void {
    const { collection, entity } = placed;
    this.#rows[collection].set(entity.id, entity);
    for (const key of claimKeysOf(collection, entity)) if (!this.claims.get(key)) this.claims.set(key, placed);
    for (const key of referenceKeys(placed)) this.#movedOf(key).set(entity.id, true);
  }

  drop(placed: PlacedEntity): void {
    const { collection, entity } = placed;
    this.#rows[collection].set(entity.id, undefined);
    for (const key of claimKeysOf(collection, entity))
      if (this.claims.get(key)?.entity.id === entity.id) this.claims.set(key, undefined);
    for (const key of referenceKeys(placed)) this.#movedOf(key).set(entity.id, undefined);
  }

  finish(): Tables {
    for (const [key, moved] of this.#moved) {
      const ids = moved.finish();
      this.#referring.set(key, ids.size > 0 ? ids : undefined);
    }
    return {
      rows: ofCollections((collection) => this.#rows[collection].finish()),
      claims: this.claims.finish(),
      referring: this.#referring.finish(),
      faulty: this.faulty.finish(),
    };
  }

  #movedOf(key: string): MapDraft<true> {
    const moved = this.#moved.get(key) ?? new MapDraft(this.#referring.get(key) ?? new SharedMap<true>());
    this.#moved.set(key, moved);
    return moved;
  }
}

function referenceKeys({ collection, entity }: PlacedEntity): readonly string[] {
  return references[collection].flatMap(({ member }) => {
    const id = referencedId(entity, member);
    return id === undefined ? [] : [referenceKey(collection, { member, id })];
  });
}
