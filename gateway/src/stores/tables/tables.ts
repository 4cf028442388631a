/** Entities in memory, indexed for every lookup. Pure: a write returns new tables. */
import {
  BucketMap,
  type Collection,
  type Entity,
  hashOfText,
  perCollection,
  referencedId,
  references,
} from "@sluice/model";
import { entityClaimKeys } from "./claims.ts";

export interface PlacedEntity {
  readonly collection: Collection;
  readonly entity: Entity;
}

export interface Tables {
  /** By id. */
  readonly rows: Readonly<Record<Collection, BucketMap<Entity>>>;
  /** By `claimKey`; of several entities with the same claim, the first. */
  readonly claims: BucketMap<PlacedEntity>;
  /** Sorted ids: by collection, of all its entities; by `referenceKey`, of those that refer to an entity. */
  readonly ids: BucketMap<readonly string[]>;
  /**
   * Invalid entities by the `claimKey` of each claim: neither found nor listed, but they keep id and name, and can be
   * removed.
   */
  readonly faulty: BucketMap<PlacedEntity>;
}

export const referenceKey = (collection: Collection, { member, id }: { member: string; id: string }): string =>
  `${collection} ${member} ${id}`;

const none: Tables = {
  rows: perCollection(() => new BucketMap<Entity>(hashOfText)),
  claims: new BucketMap(hashOfText),
  ids: new BucketMap(hashOfText),
  faulty: new BucketMap(hashOfText),
};

/**
 * Of two entities with the same id, only the first one is in the tables. Of two entities with the same claim, the first
 * one is found by it.
 *
 * @param faulty By the `claimKey` of their ids and names, as in `Tables`.
 */
export function createTables(
  entities: Iterable<PlacedEntity>,
  faulty: ReadonlyMap<string, PlacedEntity> = new Map(),
): Tables {
  const draft = new TablesDraft({ ...none, faulty: BucketMap.of(faulty, hashOfText) });
  for (const placed of entities) if (!draft.get(placed.collection, placed.entity.id)) draft.put(placed);
  return draft.toTables();
}

/** Collects changes to a map before they are applied. */
export class MapDraft<Value> {
  readonly #before: BucketMap<Value>;
  /** Undefined: deleted. */
  readonly #changes = new Map<string, Value | undefined>();

  constructor(before: BucketMap<Value>) {
    this.#before = before;
  }

  get(key: string): Value | undefined {
    return this.#changes.get(key) ?? (this.#changes.has(key) ? undefined : this.#before.get(key));
  }

  set(key: string, value: Value | undefined): void {
    this.#changes.set(key, value);
  }

  toMap(): BucketMap<Value> {
    return this.#changes.size === 0 ? this.#before : this.#before.with(this.#changes);
  }
}

export class TablesDraft {
  readonly claims: MapDraft<PlacedEntity>;
  readonly faulty: MapDraft<PlacedEntity>;
  readonly #rows: Readonly<Record<Collection, MapDraft<Entity>>>;
  readonly #ids: MapDraft<readonly string[]>;
  /** Changes to the lists of `#ids`, by key of the list: for each id, whether it belongs to the list now. */
  readonly #moved = new Map<string, Map<string, boolean>>();

  constructor({ rows, claims, ids, faulty }: Tables) {
    this.#rows = perCollection((collection) => new MapDraft(rows[collection]));
    this.claims = new MapDraft(claims);
    this.#ids = new MapDraft(ids);
    this.faulty = new MapDraft(faulty);
  }

  get(collection: Collection, id: string): Entity | undefined {
    return this.#rows[collection].get(id);
  }

  /** Entities of a collection whose member refers to this id, ordered by id. */
  referringTo(collection: Collection, by: { member: string; id: string }): readonly Entity[] {
    return this.#idsOf(referenceKey(collection, by)).flatMap((id) => this.get(collection, id) ?? []);
  }

  put(placed: PlacedEntity): void {
    const { collection, entity } = placed;
    this.#rows[collection].set(entity.id, entity);
    for (const key of entityClaimKeys(collection, entity)) if (!this.claims.get(key)) this.claims.set(key, placed);
    for (const key of listKeys(placed)) this.#movedOf(key).set(entity.id, true);
  }

  drop(placed: PlacedEntity): void {
    const { collection, entity } = placed;
    this.#rows[collection].set(entity.id, undefined);
    for (const key of entityClaimKeys(collection, entity))
      if (this.claims.get(key)?.entity.id === entity.id) this.claims.set(key, undefined);
    for (const key of listKeys(placed)) this.#movedOf(key).set(entity.id, false);
  }

  toTables(): Tables {
    for (const key of this.#moved.keys()) {
      const ids = this.#idsOf(key);
      this.#ids.set(key, ids.length > 0 ? ids : undefined);
    }
    this.#moved.clear();
    return {
      rows: perCollection((collection) => this.#rows[collection].toMap()),
      claims: this.claims.toMap(),
      ids: this.#ids.toMap(),
      faulty: this.faulty.toMap(),
    };
  }

  #movedOf(key: string): Map<string, boolean> {
    const moved = this.#moved.get(key) ?? new Map<string, boolean>();
    this.#moved.set(key, moved);
    return moved;
  }

  #idsOf(key: string): readonly string[] {
    const before = this.#ids.get(key) ?? [];
    const moved = this.#moved.get(key);
    return moved ? changeSorted(before, moved) : before;
  }
}

/** Maximum number of changes that are made one by one. For more changes, the whole list is sorted again. */
const FEW = 64;

function changeSorted(ids: readonly string[], moved: ReadonlyMap<string, boolean>): readonly string[] {
  if (moved.size > FEW) {
    const added = [...moved].flatMap(([id, isPresent]) => (isPresent ? [id] : []));
    return [...ids.filter((id) => !moved.has(id)), ...added].sort();
  }
  const changed = [...ids];
  for (const [id, isPresent] of moved) {
    const at = indexAfter(changed, id);
    const wasPresent = changed[at - 1] === id;
    if (isPresent && !wasPresent) changed.splice(at, 0, id);
    if (!isPresent && wasPresent) changed.splice(at - 1, 1);
  }
  return changed;
}

/** The index of the first id after `after` in a sorted list. */
export function indexAfter(ids: readonly string[], after: string): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] ?? "") <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}

function listKeys({ collection, entity }: PlacedEntity): readonly string[] {
  const keys = references[collection].flatMap(({ member }) => {
    const id = referencedId(entity, member);
    return id === undefined ? [] : [referenceKey(collection, { member, id })];
  });
  return [collection, ...keys];
}
