/** Splits a declarative YAML file into pieces, one per top-level entity: unchanged pieces keep their bytes. */
import { type CST, Parser } from "yaml";
import { type Collection, collections } from "../../entities/index.ts";
import { visitTokens } from "../parse/syntax-errors.ts";

/** One item of a list, in whole lines. */
export interface ItemText {
  /** Blank lines and comments above the item. */
  readonly lead: string;
  readonly body: string;
}

export interface ListText<Item> {
  readonly collection: Collection;
  /** The text from the end of the previous list to this list's first item; includes the list's name. */
  readonly head: string;
  /** Column of the dashes. */
  readonly indent: number;
  readonly items: readonly Item[];
}

export interface Layout {
  readonly lists: readonly ListText<ItemText>[];
  /** The text after the last list. */
  readonly tail: string;
  /** The document end marker, which must stay at the very end. */
  readonly end: string;
}

/**
 * Splits a valid text. Null for a text with aliases or anchors, with an indented top level, or in which the document or
 * a non-empty list of entities is in flow style: call `flattenText` first.
 */
export function layoutOf(whole: string): Layout | null {
  const text = whole.endsWith("\n") ? whole : `${whole}\n`;
  const tokens = [...new Parser().parse(text)];
  const map = tokens.find((one): one is CST.Document => one.type === "document")?.value;
  if (map?.type !== "block-map" || map.indent !== 0 || hasAlias(text, map)) return null;
  const end = tokens.find(({ type }) => type === "doc-end")?.offset ?? text.length;

  const lists: ListText<ItemText>[] = [];
  let cursor = 0;
  const collectionOf = ({ key }: CST.BlockMap["items"][number]) =>
    collections.find((name) => key && "source" in key && unquoted(key.source) === name);
  const last = new Map(map.items.map((item, at) => [collectionOf(item), at]));
  for (const [at, item] of map.items.entries()) {
    const { key, sep, value } = item;
    const collection = collectionOf(item);
    // Of several lists with the same name, the last is used; the earlier lists stay in the text without effect.
    if (!collection || !key || last.get(collection) !== at) continue;
    const next = map.items[at + 1]?.key?.offset ?? end;
    if (value?.type === "block-seq") {
      const dashes = value.items.flatMap(
        ({ start }) => start.find(({ type }) => type === "seq-item-ind")?.offset ?? [],
      );
      const cuts = [...dashes, next].map((offset) => leadStart(text, offset, value.indent));
      const items = dashes.map((dash, index) => {
        const [from = 0, to = 0] = [cuts[index], cuts[index + 1]];
        const line = lineStart(text, dash);
        return { lead: text.slice(from, line), body: text.slice(line, to) };
      });
      lists.push({ collection, head: text.slice(cursor, cuts[0]), indent: value.indent, items });
      cursor = cuts.at(-1) ?? next;
    } else {
      const [from, to] = emptyValue(value);
      if (from === undefined) return null;
      const after = lineEnd(text, Math.max(to ?? 0, ...(sep ?? []).map(({ offset }) => offset), key.offset));
      const head = `${text.slice(cursor, from === 0 ? after : from)}${from === 0 ? "" : text.slice(to, after)}`;
      lists.push({ collection, head, indent: 2, items: [] });
      cursor = Math.min(after, next);
    }
  }
  return { lists, tail: text.slice(cursor, end), end: text.slice(end) };
}

export const layoutText = ({ lists, tail, end }: Layout): string =>
  `${lists.map(({ head, items }) => head + items.map(({ lead, body }) => lead + body).join("")).join("")}${tail}${end}`;

const unquoted = (source: string): string => source.replace(/^(["'])(.*)\1$/, "$2");

/** The start and end of an empty list or a scalar such as `~`; `[0]` if the value is absent; `[]` for other values. */
function emptyValue(value: CST.Token | null | undefined): readonly number[] {
  if (!value) return [0];
  if (value.type === "flow-collection" && value.items.every(({ key, value }) => !key && !value)) {
    const close = value.end.find(({ type }) => type === "flow-seq-end" || type === "flow-map-end");
    return close ? [value.offset, close.offset + 1] : [];
  }
  return value.type === "scalar" ? [value.offset, value.offset + value.source.length] : [];
}

/** The start of a line, including the blank lines and comments above it that belong to it. */
function leadStart(text: string, offset: number, indent: number): number {
  let start = lineStart(text, offset);
  while (start > 0) {
    const above = lineStart(text, start - 1);
    const [, spaces = "", first = ""] = /^( *)(.?)/.exec(text.slice(above, start).replace(/\r?\n$/, "")) ?? [];
    if (first !== "" && (first !== "#" || spaces.length > indent)) break;
    start = above;
  }
  return start;
}

const lineStart = (text: string, offset: number): number => (offset === 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1);

const lineEnd = (text: string, offset: number): number => text.indexOf("\n", offset) + 1 || text.length;

/** Whether the text has aliases or anchors, so that an edit of one piece could change other pieces. */
const hasAlias = (text: string, map: CST.BlockMap): boolean =>
  /[&*]/.test(text) &&
  visitTokens([map]).some(
    ({ token }) =>
      token.type === "alias" ||
      ("items" in token &&
        token.items.some(({ start, sep = [] }) => [...start, ...sep].some(({ type }) => type === "anchor"))),
  );
