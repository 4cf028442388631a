/**
 * A large declarative file after an edit of some of its items: only these are read and checked, so that a change of one
 * route among a hundred thousand is served at once.
 */
import { type ChangedItems, type Collection, collections, type DividedText, divideText } from "@sluice/model/serving";
import type { Range } from "./entity-ids.ts";

/** Items that an edit put in the place of others. */
export interface EditedItems {
  /** Items of the text before, which are not in the text any more. */
  readonly removed: Range;
  /** How many stand in their place in each list. */
  readonly added: readonly { readonly collection: Collection; readonly count: number }[];
  readonly changed: ChangedItems;
}

/** Characters of edited items; from more of them on the whole text is read. */
const MOST = 4 * 1024 * 1024;

/** Where an item stands in its text. */
export interface Item {
  readonly collection: Collection;
  readonly start: number;
  readonly end: number;
}

export const itemsOf = ({ lists }: DividedText): readonly Item[] =>
  lists.flatMap(({ collection, starts, end }) =>
    starts.map((start, index) => ({ collection, start, end: starts[index + 1] ?? end })),
  );

/** Null when the whole text must be read: it is not made of items, or much has changed. */
export function findEdit(before: string, text: string): EditedItems | null {
  const [one, other] = [divideText(before), divideText(text)];
  if (one === null || other === null || one.head !== other.head) return null;
  const [held, items] = [itemsOf(one), itemsOf(other)];
  const isSame = (at: number, otherAt: number): boolean => {
    const [mine, theirs] = [held[at], items[otherAt]];
    if (mine === undefined || theirs === undefined || mine.collection !== theirs.collection) return false;
    return before.slice(mine.start, mine.end) === text.slice(theirs.start, theirs.end);
  };
  const most = Math.min(held.length, items.length);
  let first = 0;
  while (first < most && isSame(first, first)) first++;
  let last = 0;
  while (last < most - first && isSame(held.length - 1 - last, items.length - 1 - last)) last++;

  const edited = items.slice(first, items.length - last);
  const length = edited.reduce((sum, { start, end }) => sum + end - start, 0);
  if (length > MOST) return null;
  const inLists = collections.flatMap((collection) => {
    const own = edited.filter((item) => item.collection === collection);
    return own.length === 0 ? [] : [{ collection, own }];
  });
  const lines = inLists.map(({ collection, own }) => [
    collection,
    own.map(({ start, end }) => text.slice(start, end)).join(""),
  ]);
  return {
    removed: { from: first, to: held.length - last },
    added: listsOf(edited),
    changed: { head: other.head, items: Object.fromEntries(lines) },
  };
}

/** In the order of the text; the items of a list stand together. */
export function listsOf(items: readonly Item[]): EditedItems["added"] {
  const counts = new Map<Collection, number>();
  for (const { collection } of items) counts.set(collection, (counts.get(collection) ?? 0) + 1);
  return [...counts].map(([collection, count]) => ({ collection, count }));
}
