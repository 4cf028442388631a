/** Renders one item of a list as lines of a YAML file, and whole files in a form that can be split into items. */
import { isDeepStrictEqual } from "node:util";
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  stringify,
  visit,
} from "yaml";
import { readYaml } from "../parse/yaml.ts";

// Strings are quoted so that YAML 1.1 parsers such as Kong's read the same values.
const compat = "yaml-1.1";

export interface ItemPlace {
  /** Column of the dash. */
  readonly indent: number;
  /** The previous lines of the item; unchanged parts keep their comments. */
  readonly before?: string;
  /** Whether lines end in CRLF. */
  readonly crlf?: boolean;
}

/** The item's lines, starting with a dash. */
export function renderItem(data: unknown, { indent, before, crlf = false }: ItemPlace): string {
  const edited = before === undefined ? undefined : editItem(before, data);
  const lines = edited ?? stringify([data], { compat, aliasDuplicateObjects: false, lineWidth: 0 });
  const indented = lines.replace(/^(?=[^\n])/gm, " ".repeat(indent));
  return crlf ? indented.replaceAll(/\r?\n/g, "\r\n") : indented;
}

/** The parsed text without duplicate keys, so that edits change the value that is used. */
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

/**
 * Changes a node to have the value, and returns the node. For a changed scalar, or a value of a different type, returns
 * a new node. Comments, order and quoting of unchanged parts are kept.
 */
export function editNode(document: Document, node: unknown, value: unknown): Node {
  if (isNode(node) && !isAlias(node) && isDeepStrictEqual(node.toJS(document), value)) return node;
  if (isMap(node) && typeof value === "object" && value !== null && !Array.isArray(value)) {
    const wanted = Object.entries(value).filter(([, member]) => member !== undefined);
    const names = new Set(wanted.map(([name]) => name));
    node.items = node.items.filter(({ key }) => names.has(String(isScalar(key) ? key.value : key)));
    for (const [name, member] of wanted) node.set(name, editNode(document, node.get(name, true), member));
    return node;
  }
  if (isSeq(node) && Array.isArray(value)) {
    node.items = value.map((item, index) => editNode(document, node.items[index], item));
    return node;
  }
  const created = document.createNode(value, { aliasDuplicateObjects: false });
  if (isScalar(node) && isScalar(created)) {
    const { comment, commentBefore, spaceBefore } = node;
    Object.assign(created, { comment, commentBefore, spaceBefore });
    if (typeof node.value === "string" && typeof value === "string") created.type = node.type;
  }
  return created;
}

/** Matches a list that is not indented below its name; the name may follow a dash. */
const flushList = /^(?:( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- |( *)- [^\s#][^\n]*:[ \t]*\r?\n\2 {2}- )/m;

/** The edited lines. Undefined if `before` is not one item, or if the edited text would not parse to the data. */
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
 * The text with every alias expanded, and in block style from the top down to the items of its lists. Comments are kept
 * if that text parses to the data; otherwise the data is written without comments.
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
