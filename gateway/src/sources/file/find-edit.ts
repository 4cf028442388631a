/**
 * Finds the edited items of a large declarative file. Only these are read and checked, so a change of one route among a
 * hundred thousand is served at once.
 */
import { type ChangedItems, type Collection, collections, type DividedText, divideText } from "@sluice/model/serving";

/** The items of the old text that are no longer in the new text, and the items of the new text that replace them. */
export interface EditedItems {
  readonly removed: ChangedItems;
  readonly added: ChangedItems;
}

/** A reference to an entity, by its id or name. */
export interface EntityReference {
  readonly collection: Collection;
  readonly idOrName: string;
}

export const wantedKey = ({ collection, idOrName }: EntityReference): string => `${collection}/${idOrName}`;

/** Maximum characters of edited items; above that, the whole text is read. */
const MAX_EDITED_LENGTH = 4 * 1024 * 1024;

/** A YAML anchor where a node may begin, or text that looks like one: unedited items may refer to it. */
const ANCHOR = /(?:^|[\s,[{:])&/;

/**
 * Returns the items in which the texts differ. Null when the whole text must be read: a text cannot be divided into
 * items, the heads differ, the edit is too large, or edited items have anchors.
 */
export function findEdit(before: string, text: string): EditedItems | null {
  const [dividedBefore, divided] = [divideText(before), divideText(text)];
  if (dividedBefore === null || divided === null || dividedBefore.head !== divided.head) return null;
  const [old, items] = [itemPositions(dividedBefore), itemPositions(divided)];
  const most = Math.min(old.starts.length, items.starts.length);
  const sameStart = lengthOfSameStart(before, text);
  let first = 0;
  while (first < most && isSamePosition(old, first, items, first, 0) && (old.ends[first] ?? 0) <= sameStart) first++;
  const sameEnd = lengthOfSameEnd(before, text);
  const shift = text.length - before.length;
  let [oldEnd, end] = [old.starts.length, items.starts.length];
  while (
    Math.min(oldEnd, end) > first &&
    isSamePosition(old, oldEnd - 1, items, end - 1, shift) &&
    (old.starts[oldEnd - 1] ?? 0) >= before.length - sameEnd
  ) {
    oldEnd--;
    end--;
  }
  const removed = linesOf(before, old, first, oldEnd);
  const added = linesOf(text, items, first, end);
  const lines = [removed, added].flatMap((each) => Object.values(each));
  if (lines.some((one) => ANCHOR.test(one))) return null;
  if (lines.reduce((sum, one) => sum + one.length, 0) > MAX_EDITED_LENGTH) return null;
  const { head } = divided;
  return { removed: { head, items: removed }, added: { head, items: added } };
}

/** The positions of all items of a text, in text order. Compact, because there may be hundreds of thousands. */
interface ItemPositions {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** For each item, the index of its collection in `collections`. */
  readonly lists: Uint8Array;
}

function itemPositions({ lists }: DividedText): ItemPositions {
  const count = lists.reduce((sum, { starts }) => sum + starts.length, 0);
  const places = { starts: new Uint32Array(count), ends: new Uint32Array(count), lists: new Uint8Array(count) };
  let at = 0;
  for (const { collection, starts, end } of lists) {
    places.starts.set(starts, at);
    places.ends.set(starts.slice(1), at);
    places.ends[at + starts.length - 1] = end;
    places.lists.fill(collections.indexOf(collection), at, at + starts.length);
    at += starts.length;
  }
  return places;
}

/** Whether two items are in the same list, and `shift` is the distance between their positions. */
function isSamePosition(old: ItemPositions, at: number, items: ItemPositions, other: number, shift: number): boolean {
  return (
    old.lists[at] === items.lists[other] &&
    (old.starts[at] ?? 0) + shift === items.starts[other] &&
    (old.ends[at] ?? 0) + shift === items.ends[other]
  );
}

/** The lines of the items from index `from` to index `to`, by list. */
function linesOf(text: string, { starts, ends, lists }: ItemPositions, from: number, to: number) {
  const lines: Partial<Record<Collection, string>> = {};
  for (let at = from; at < to; at++) {
    const collection = collections[lists[at] ?? 0] as Collection;
    lines[collection] = (lines[collection] ?? "") + text.slice(starts[at], ends[at]);
  }
  return lines;
}

/** Characters per comparison: comparing whole pieces is many times faster than single characters. */
const PIECE = 64 * 1024;

function lengthOfSameStart(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let at = 0;
  while (at < most && one.slice(at, at + PIECE) === other.slice(at, at + PIECE)) at += PIECE;
  while (at < most && one.charCodeAt(at) === other.charCodeAt(at)) at++;
  return Math.min(at, most);
}

function lengthOfSameEnd(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  const piece = (text: string, same: number) => text.slice(Math.max(0, text.length - same - PIECE), text.length - same);
  let same = 0;
  while (same < most && piece(one, same) === piece(other, same)) same += PIECE;
  const isSame = () => one.charCodeAt(one.length - 1 - same) === other.charCodeAt(other.length - 1 - same);
  while (same < most && isSame()) same++;
  return Math.min(same, most);
}
