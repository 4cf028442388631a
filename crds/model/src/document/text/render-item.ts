/** One item of a list as the lines of a YAML file, and whole files in the form that items can be taken from. */
import { isDeepStrictEqual } from "node:util";
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  stringify,
  visit,
} from "yaml";
import { readYaml } from "../yaml.ts";
import { editNode } from "./edit.ts";

// Quoted so that readers of YAML 1.1, as Kong is, read the same.
const compat = "yaml-1.1";

export interface ItemPlace {
  /** Column of the dash. */
  readonly indent: number;
  /** The lines that it replaces; what does not change keeps its comments. */
  readonly before?: string;
  /** Whether lines end as in files of Windows. */
  readonly crlf?: boolean;
}

/** Lines that start with a dash and hold the data. */
export function renderItem(data: unknown, { indent, before, crlf = false }: ItemPlace): string {
  const edited = before === undefined ? undefined : editItem(before, data);
  const lines = edited ?? stringify([data], { compat, aliasDuplicateObjects: false, lineWidth: 0 });
  const indented = lines.replace(/^(?=[^\n])/gm, " ".repeat(indent));
  return crlf ? indented.replaceAll(/\r?\n/g, "\r\n") : indented;
}

/** Without duplicate keys: the value that counts is the one that is edited. */
function documentOf(text: string): Document {
  const document: Document = parseDocument(text, { compat, resolveKnownTags: false, uniqueKeys: false });
  visit(document, {
    Map(_, map) {
      const last = new Map(map.items.map((pair) => [isMerge(pair) ? pair : String(pair.key), pair]));
      map.items = map.items.filter((pair) => last.get(isMerge(pair) ? pair : String(pair.key)) === pair);
    },
  });
  return document;
}

/** A list that is not indented below its name, also where the name stands behind a dash. */
const flushList = /^(?:( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- |( *)- [^\s#][^\n]*:[ \t]*\r?\n\2 {2}- )/m;

/** Undefined when what comes out would not be what was meant. */
function editItem(before: string, data: unknown): string | undefined {
  const document = documentOf(before);
  const list = document.contents;
  if (!isSeq<Node>(list) || list.items.length !== 1) return undefined;
  list.items = [editNode(document, list.items[0], data)];
  const text = document.toString({
    lineWidth: 0,
    indentSeq: !flushList.test(before),
    flowCollectionPadding: /[[{] /.test(before),
  });
  return isDeepStrictEqual(readYaml(text).value?.data, [data]) ? text : undefined;
}

/**
 * The text of this data with every alias written out, and nothing in flow style from the top down to the items of its
 * lists. Comments stay.
 */
export function flattenText(text: string, data: unknown): string {
  const document = documentOf(text);
  writeOutAliases(document);
  const root = document.contents;
  if (isMap<unknown, unknown>(root)) {
    root.flow = false;
    for (const { value } of root.items) {
      if (!isSeq(value)) continue;
      value.flow = false;
      for (const item of value.items) if (isCollection(item)) item.flow = false;
    }
  }
  const flat = document.toString({ lineWidth: 0 });
  if (isDeepStrictEqual(readYaml(flat).value?.data, data)) return flat;
  return stringify(data, { compat, aliasDuplicateObjects: false, lineWidth: 0 });
}

function writeOutAliases(document: Document): void {
  const anchors = new Map<string, Node>();
  visit(document, {
    Node(_, node) {
      if (isAlias(node)) return anchors.get(node.source)?.clone() as Node | undefined;
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      node.anchor = undefined;
      return undefined;
    },
  });
  visit(document, {
    Map(_, map) {
      const merged = map.items.filter(isMerge).flatMap(({ value }) => (isSeq(value) ? value.items : [value]));
      if (merged.length === 0) return;
      map.items = map.items.filter((pair) => !isMerge(pair));
      for (const pair of merged.flatMap((from) => (isMap(from) ? from.items : [])))
        if (!map.has(isScalar(pair.key) ? pair.key.value : pair.key)) map.items.push(pair);
    },
  });
}

const isMerge = ({ key }: Pair): boolean => isScalar(key) && key.type === "PLAIN" && key.value === "<<";
