/**
 * A persistent index of items by a common key. A changed index shares all unaffected groups with the index before the
 * change.
 */
import { BucketMap, byHash, type Difference } from "@sluice/model/serving";
import { insertSorted } from "../router/radix.ts";

interface Member {
  readonly id: string;
}

const none: readonly never[] = [];

export class GroupIndex<Item extends Member> {
  readonly #keyOf: (item: Item) => string | undefined;
  readonly #map: BucketMap<readonly Item[]>;

  /** @param keyOf the key of an item; undefined: it is in no group. Must be constant for an item. */
  constructor(keyOf: (item: Item) => string | undefined, map: BucketMap<readonly Item[]> = new BucketMap(byHash)) {
    this.#keyOf = keyOf;
    this.#map = map;
  }

  /** Sorted by id. */
  of(key: string): readonly Item[] {
    return this.#map.get(key) ?? none;
  }

  get isEmpty(): boolean {
    return this.#map.size === 0;
  }

  has(key: string): boolean {
    return this.#map.has(key);
  }

  /** Returns the same object when nothing changes. */
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
