/**
 * The items of the lists at the top of a YAML text, found by the lines alone: many times faster than a parser, for files
 * of a hundred thousand entities. A text that cannot be divided surely is not divided.
 */
import { type Collection, collections } from "../../entities/index.ts";

/** One list, whose items are whole lines: item `index` goes from `starts[index]` to `starts[index + 1]` or to `end`. */
export interface ItemLines {
  readonly collection: Collection;
  readonly starts: readonly number[];
  readonly end: number;
}

export interface DividedText {
  /** All lines that belong to no item, with the names of the lists, which hold nothing here. */
  readonly head: string;
  /** In the order of the text. */
  readonly lists: readonly ItemLines[];
}

const LIST_NAME = /^([A-Za-z_]\w*):[ \t]*(?:#.*)?$/;
const MEMBER = /^[A-Za-z_]\w*:[ \t]/;
const NOTHING = /^[ \t]*(?:#.*)?$/;
const ITEM = /^-(?:[ \t]|$)/;

/** An open list: its dashes stand in this column, undefined before the first. */
interface OpenList {
  readonly collection: Collection;
  readonly starts: number[];
  indent: number | undefined;
}

/**
 * Null for a text in another form than block style at the margin (JSON, quoted names, several documents, directives), and
 * for lines that do not show where they belong. Each item by itself has the meaning that it has in the whole text, unless
 * it refers to an anchor of another item: then it cannot be read by itself.
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
      // The beginning of the document.
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
