/**
 * Finds the items of a YAML text's top-level lists by lines alone. The scan is many times faster than parsing,
 * which matters for files of a hundred thousand entities. Ambiguous texts are not divided.
 */
import { type Collection, collections } from "../../entities/index.ts";

/** One list of items in whole lines: item `index` spans `starts[index]` to `starts[index + 1]` or `end`. */
export interface ItemLines {
  readonly collection: Collection;
  readonly starts: readonly number[];
  readonly end: number;
}

export interface DividedText {
  /** All lines outside of items, including the names of the lists, which have no values in this text. */
  readonly head: string;
  /** In text order. */
  readonly lists: readonly ItemLines[];
}

const LIST_NAME = /^([A-Za-z_]\w*):[ \t]*(?:#.*)?$/;
const MEMBER = /^[A-Za-z_]\w*:[ \t]/;
const NOTHING = /^[ \t]*(?:#.*)?$/;
const ITEM = /^-(?:[ \t]|$)/;

/** An open list; the column of its dashes is undefined before the first item. */
interface OpenList {
  readonly collection: Collection;
  readonly starts: number[];
  indent: number | undefined;
}

/**
 * Divides a text into its items. Null for JSON, for a text with quoted names, duplicate lists, directives or a second
 * document at the top level, and when a line of a list does not clearly belong to one item. Each item means the same by
 * itself as in the whole text, unless it refers to an anchor in another item: such an item cannot be parsed by itself.
 */
export function divideText(text: string): DividedText | null {
  const lists: ItemLines[] = [];
  const names = new Set<string>();
  const heads: string[] = [];
  let open: OpenList | undefined;
  let headStart = 0;

  const close = (at: number): void => {
    if (open?.indent === undefined) return;
    lists.push({ collection: open.collection, starts: open.starts, end: at });
    headStart = at;
  };

  for (let at = 0; at < text.length; ) {
    const next = text.indexOf("\n", at) + 1 || text.length;
    const indent = countSpaces(text, at);
    if (open?.indent !== undefined && indent > open.indent) {
      at = next;
      continue;
    }
    const line = text.slice(at + indent, next).trimEnd();
    if (NOTHING.test(line)) {
      // A blank line or a comment, in an item or in the head.
    } else if (at === 0 && line === "---") {
      // The start of the document.
    } else if (ITEM.test(line) && open !== undefined) {
      if ((open.indent ?? indent) !== indent) return null;
      if (open.indent === undefined) heads.push(text.slice(headStart, at));
      open.indent = indent;
      open.starts.push(at);
    } else if (indent === 0 && !ITEM.test(line)) {
      const name = LIST_NAME.exec(line)?.[1];
      if (name === undefined && !MEMBER.test(line)) return null;
      close(at);
      if (name !== undefined && names.has(name)) return null;
      const collection = collections.find((one) => one === name);
      if (collection !== undefined) names.add(collection);
      open = collection === undefined ? undefined : { collection, starts: [], indent: undefined };
    } else if (open !== undefined) return null;
    at = next;
  }
  close(text.length);
  heads.push(text.slice(headStart));
  return { head: heads.join(""), lists };
}

function countSpaces(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === 32) at++;
  return at - from;
}
