/**
 * Parses YAML or JSON text to plain data with lines and columns. JSON is parsed as YAML, only faster.
 *
 * Limits: 32 MiB of text, 100 levels, a million values reached through aliases. Custom tags, several documents in one
 * text and numbers that JSON does not have are violations. Of a duplicate key the last value counts, as in Kong, and a
 * warning names both lines.
 */
import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  type YAMLMap,
} from "yaml";
import { isRecord } from "../../schema/node.ts";
import type { Checked, Violation } from "../../violation.ts";
import { divideText } from "../text/items.ts";
import { readPlainJson } from "./json.ts";
import { syntaxFaults } from "./syntax-errors.ts";

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_DEPTH = 100;
const MAX_ALIASED_VALUES = 1_000_000;
const MAX_SYNTAX_FAULTS = 20;

type Path = Violation["path"];
type Position = NonNullable<Violation["position"]>;

export interface LocatedData {
  readonly data: unknown;
  /** Duplicate keys, at the key that counts. */
  readonly warnings: readonly Violation[];
  /** The position of a member's name or an item's start; for a missing node, that of its parent. */
  readonly positionOf: (path: Path) => Position;
}

export interface YamlOptions {
  /** The file name in positions. */
  readonly file?: string;
}

/** Parses one document. Syntax errors have the parser's own message (or see `syntaxFaults`), with line and column. */
export function readYaml(text: string, options: YamlOptions = {}): Checked<LocatedData> {
  const isLarge = Buffer.byteLength(text) > MAX_BYTES;
  const data = isLarge ? undefined : (readPlainJson(text, MAX_DEPTH) ?? readByItems(text));
  if (data === undefined) return readAsYaml(text, options);
  const start: Position = { ...(options.file !== undefined && { file: options.file }), line: 1, column: 1 };
  let located: LocatedData | undefined;
  const positionOf = (path: Path): Position => {
    // Positions are needed only for violations, and few texts have any. If the text is not valid YAML there are none.
    located ??= readAsYaml(text, options).value ?? { data, warnings: [], positionOf: () => start };
    return located.positionOf(path);
  };
  return { value: { data, warnings: [], positionOf } };
}

/**
 * The length from which a text is parsed in parts, and the length of a part, in characters. The parser's memory for a
 * part is released early.
 */
const LONG = 256 * 1024;
const PART = 64 * 1024;

/** Undefined if the text is short, cannot be divided, or may have violations: `readAsYaml` reports them. */
function readByItems(text: string): object | undefined {
  if (text.length < LONG) return undefined;
  const divided = divideText(text);
  if (divided === null) return undefined;
  const head = readWithoutWarnings(divided.head);
  if (!isRecord(head)) return undefined;
  const data: Record<string, unknown> = { ...head };
  for (const { collection, starts, end } of divided.lists) {
    if (data[collection] !== null) return undefined;
    const items: unknown[] = [];
    for (let index = 0; index < starts.length; ) {
      const from = starts[index] ?? 0;
      while (++index < starts.length && (starts[index] ?? 0) - from < PART);
      const part = readItems(text.slice(from, starts[index] ?? end));
      if (part === undefined) return undefined;
      for (const item of part) items.push(item);
    }
    data[collection] = items;
  }
  return data;
}

/** Items of one list from `divideText`. Undefined if they have violations or cannot be parsed by themselves. */
export function readItems(lines: string): readonly unknown[] | undefined {
  const data = readWithoutWarnings(lines);
  return Array.isArray(data) ? data : undefined;
}

/** Undefined for a text with violations or warnings, since these refer to positions in the whole text. */
export function readWithoutWarnings(text: string): unknown {
  const { value } = readAsYaml(text);
  return value === undefined || value.warnings.length > 0 ? undefined : value.data;
}

/** Like `readYaml`, but parses JSON by the rules of YAML too. */
export function readAsYaml(text: string, options: YamlOptions = {}): Checked<LocatedData> {
  const lines = new LineCounter();
  const place = (offset: number): Position => {
    const { line, col } = offset === 0 ? { line: 1, col: 1 } : lines.linePos(offset);
    return options.file === undefined ? { line, column: col } : { file: options.file, line, column: col };
  };
  const fault = (message: string, offset: number): Violation => ({ path: [], message, position: place(offset) });

  if (Buffer.byteLength(text) > MAX_BYTES) {
    return { violations: [fault(`a document may have ${MAX_BYTES} bytes at most`, 0)] };
  }
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const deep = tooDeep(tokens);
  if (deep !== undefined) return { violations: [fault(`nested more than ${MAX_DEPTH} levels deep`, deep)] };

  // Duplicate names are found below: the library compares every pair of names, which is slow for long maps.
  const composer = new Composer({
    uniqueKeys: false,
    prettyErrors: false,
    resolveKnownTags: false,
    logLevel: "silent",
  });
  const documents = [...composer.compose(tokens, true, text.length)];
  const syntax = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]);
  if (syntax.length > 0) {
    const faults = syntaxFaults(text, syntax).slice(0, MAX_SYNTAX_FAULTS);
    return { violations: faults.map(({ message, offset }) => fault(message, offset)) };
  }
  const [document, second] = documents;
  if (second !== undefined) return { violations: [fault("a file holds one document only", second.range[0])] };
  return convert(document?.contents ?? null, place);
}

/** Offset of the first token that is nested too deeply. Iterative, because the input controls the depth. */
function tooDeep(tokens: readonly CST.Token[]): number | undefined {
  const waiting = tokens.map((token) => ({ token, depth: 0 }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { token, depth } = next;
    if (depth > MAX_DEPTH) return token.offset;
    if (token.type === "document" && token.value) waiting.push({ token: token.value, depth });
    if (!("items" in token)) continue;
    for (const { key, value } of token.items) {
      if (key) waiting.push({ token: key, depth: depth + 1 });
      if (value) waiting.push({ token: value, depth: depth + 1 });
    }
  }
  return undefined;
}

function convert(root: Document.Parsed["contents"], place: (offset: number) => Position): Checked<LocatedData> {
  const violations: Violation[] = [];
  const warnings: Violation[] = [];
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  let aliasedValues = 0;

  const report = (path: Path, node: Node | null, message: string) => {
    violations.push({ path, message, position: place(node?.range?.[0] ?? 0) });
    return null;
  };

  function follow(alias: Alias, path: Path): unknown {
    const target = anchors.get(alias.source);
    if (target === undefined) return report(path, alias, `no anchor '${alias.source}' stands before this alias`);
    targets.set(alias, target);
    return toData(target, path, true);
  }

  function toData(node: Node | null, path: Path, aliased: boolean): unknown {
    if (path.length > MAX_DEPTH) return report(path, node, `nested more than ${MAX_DEPTH} levels deep`);
    if (aliased && ++aliasedValues > MAX_ALIASED_VALUES) {
      return aliasedValues === MAX_ALIASED_VALUES + 1 ? report(path, node, "aliases stand for too many values") : null;
    }
    if (node === null) return null;
    if (isAlias(node)) return follow(node, path);
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isSeq<Node>(node)) return node.items.map((item, index) => toData(item, [...path, index], aliased));
    if (isMap<Node, Node | null>(node)) return toRecord(node, path, aliased);
    const value = isScalar(node) ? node.value : undefined;
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number" && Number.isFinite(value)) return value;
    return report(path, node, "expected a string, a number, a boolean or null");
  }

  /** Kong's YAML and JSON parsers keep the last value; a file may unknowingly rely on it. */
  function warnOfDuplicate(path: Path, { first, key }: { readonly first: Node; readonly key: Node }): void {
    const [{ line, column }, position] = [place(first.range?.[0] ?? 0), place(key.range?.[0] ?? 0)];
    const message = `duplicate key: this value replaces the one at ${line}:${column}, which is ignored`;
    warnings.push({ path, message, position });
  }

  function toRecord(map: YAMLMap<Node, Node | null>, path: Path, aliased: boolean): Record<string, unknown> {
    const own: Record<string, unknown> = {};
    const keys = new Map<string, Node>();
    const merged: Record<string, unknown>[] = [];
    for (const { key, value } of map.items) {
      if (isMergeKey(key)) {
        const from = toData(value, path, aliased);
        for (const each of Array.isArray(from) ? from : [from]) {
          if (isRecord(each)) merged.push(each);
          else report(path, key, "<< takes a record, or a list of records");
        }
        continue;
      }
      const name = nameOf(key);
      if (name === undefined) report(path, key, "a member's name must be a string");
      else if (name === "__proto__") report([...path, name], key, "unknown field");
      else {
        const first = keys.get(name);
        // Duplicates in an aliased node were reported at its anchor.
        if (first !== undefined && !aliased) warnOfDuplicate([...path, name], { first, key });
        keys.set(name, key);
        own[name] = toData(value, [...path, name], aliased);
      }
    }
    return merged.length === 0 ? own : Object.assign({}, ...merged.reverse(), own);
  }

  const data = toData(root, [], false);
  if (violations.length > 0) return { violations };
  return { value: { data, warnings, positionOf: (path) => place(offsetOf(root, path, targets)) } };
}

function offsetOf(root: Node | null, path: Path, targets: ReadonlyMap<Alias, Node>): number {
  let node = root;
  let offset = root?.range?.[0] ?? 0;
  for (const step of path) {
    if (isAlias(node)) node = targets.get(node) ?? null;
    if (isMap<Node, Node | null>(node)) {
      const pair = findPair(node, String(step), targets);
      if (pair === undefined) break;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq<Node>(node) && typeof step === "number") {
      node = node.items[step] ?? null;
      offset = node?.range?.[0] ?? offset;
    } else break;
  }
  return offset;
}

function findPair(
  map: YAMLMap<Node, Node | null>,
  name: string,
  targets: ReadonlyMap<Alias, Node>,
): Pair<Node, Node | null> | undefined {
  const own = map.items.findLast(({ key }) => !isMergeKey(key) && nameOf(key) === name);
  if (own !== undefined) return own;
  for (const { key, value } of map.items) {
    if (!isMergeKey(key)) continue;
    for (const each of isSeq<Node>(value) ? value.items : [value]) {
      const from = isAlias(each) ? targets.get(each) : each;
      const found = isMap<Node, Node | null>(from) ? findPair(from, name, targets) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** YAML 1.1's `<<: *anchor`, which Kong's parser and decK support. */
const isMergeKey = (key: Node): boolean => isScalar(key) && key.type === "PLAIN" && key.value === "<<";

/** `80: x` has the name "80", as in JSON. */
function nameOf(key: Node): string | undefined {
  if (!isScalar(key) || key.value === null || key.value === "") return undefined;
  return typeof key.value === "string" ? key.value : key.source;
}
