/**
 * An index of items by key; the items with the same key are a group. The index is immutable: `with` returns a changed
 * index, which shares all unaffected groups with the index before the change.
 */
import { BucketMap, type Difference, hashOfText } from "@sluice/model/serving";
import { insertSorted } from "../router/radix.ts";

interface Member {
  readonly id: string;
}

const none: readonly never[] = [];

export class GroupIndex<Item extends Member> {
  readonly #keyOf: (item: Item) => string | undefined;
  readonly #map: BucketMap<readonly Item[]>;

  /** @param keyOf Returns the key of an item, always the same for an item; undefined: the item is in no group. */
  constructor(keyOf: (item: Item) => string | undefined, map: BucketMap<readonly Item[]> = new BucketMap(hashOfText)) {
    this.#keyOf = keyOf;
    this.#map = map;
  }

  /** The items with this key, sorted by id. */
  of(key: string): readonly Item[] {
    return this.#map.get(key) ?? none;
  }

  get isEmpty(): boolean {
    return this.#map.size === 0;
  }

  has(key: string): boolean {
    return this.#map.has(key);
  }

  /** The index after these changes; the same object when no group changes. */
  with(changes: readonly Difference<Item>[]): GroupIndex<Item> {
    const drafts = new Map<string, readonly Item[] | undefined>();
    const groupOf = (key: string) => (drafts.has(key) ? drafts.get(key) : this.#map.get(key)) ?? none;
    for (const { before, after } of changes) {
      const left = before && this.#keyOf(before);
      const entered = after && this.#keyOf(after);
      if (before && left !== undefined) {
        const others = groupOf(left).filter((item) => item.id !== before.id);
        drafts.set(left, others.length > 0 ? others : undefined);
      }
      if (after && entered !== undefined) drafts.set(entered, insertSorted(groupOf(entered), after, inOrder));
    }
    const next = this.#map.with(drafts);
    return next === this.#map ? this : new GroupIndex(this.#keyOf, next);
  }
}

const inOrder = (one: Member, other: Member): number => (one.id < other.id ? -1 : 1);
