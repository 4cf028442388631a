/**
 * Parses YAML or JSON text to plain data with lines and columns. JSON is read faster, with the same result as YAML.
 *
 * Limits: 32 MiB of text, 100 levels, a million values reached through aliases. Custom tags, several documents in one
 * text and numbers that JSON does not have are violations. As in Kong, the last value of a duplicate key is used; a
 * warning names both positions.
 */

import { type Checked, isRecord, type Violation } from "@sluice/plugin-sdk";
import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  Parser,
  type YAMLMap,
} from "yaml";
import { divideText } from "../text/items.ts";
import { readPlainJson } from "./json.ts";
import { syntaxFaults, visitTokens } from "./syntax-errors.ts";

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_DEPTH = 100;
const MAX_ALIASED_VALUES = 1_000_000;
const MAX_SYNTAX_FAULTS = 20;

type Path = Violation["path"];
type Position = NonNullable<Violation["position"]>;

export interface LocatedData {
  readonly data: unknown;
  /** A warning for each repetition of a key, at the position of the repetition. */
  readonly warnings: readonly Violation[];
  /** Returns the position of a member's name or an item's start; for a missing path, of the nearest existing parent. */
  readonly positionOf: (path: Path) => Position;
}

export interface YamlOptions {
  readonly file?: string;
}

/** Parses one document. Syntax errors have the parser's message or one from `syntaxFaults`, with line and column. */
export function readYaml(text: string, options: YamlOptions = {}): Checked<LocatedData> {
  const isLarge = Buffer.byteLength(text) > MAX_BYTES;
  const data = isLarge ? undefined : (readPlainJson(text, MAX_DEPTH) ?? readByItems(text));
  if (data === undefined) return readAsYaml(text, options);
  const start: Position = { ...(options.file !== undefined && { file: options.file }), line: 1, column: 1 };
  let located: LocatedData | undefined;
  const positionOf = (path: Path): Position => {
    // Positions are needed only for violations, and few texts have any. In JSON that is not
    // valid YAML, every position is the start of the text.
    located ??= readAsYaml(text, options).value ?? { data, warnings: [], positionOf: () => start };
    return located.positionOf(path);
  };
  return { value: { data, warnings: [], positionOf } };
}

/** Texts with at least this many characters are parsed in parts, so that the parser's memory is released early. */
const LONG = 256 * 1024;
/** Minimum number of characters in a part, except for the last part of a list. */
const PART = 64 * 1024;

/** The data. Undefined if the text is short, cannot be divided, or may have violations, which `readAsYaml` reports. */
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

/** Parses items of a list from `divideText`. Undefined if they have violations, warnings or aliases to other items. */
export function readItems(lines: string): readonly unknown[] | undefined {
  const data = readWithoutWarnings(lines);
  return Array.isArray(data) ? data : undefined;
}

/** The data of a part of a text. Undefined if it has violations or warnings, which need positions in the whole text. */
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
  const deep = visitTokens(tokens).find(({ depth }) => depth > MAX_DEPTH);
  if (deep) return { violations: [fault(`nested more than ${MAX_DEPTH} levels deep`, deep.token.offset)] };

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

function convert(root: Document.Parsed["contents"], place: (offset: number) => Position): Checked<LocatedData> {
  const violations: Violation[] = [];
  const warnings: Violation[] = [];
  const anchors = new Map<string, Node>();
  /** The offsets of the members or items of each value. */
  const offsets = new Map<unknown, Map<string | number, number>>();
  let aliasedValues = 0;

  const report = (path: Path, node: Node | null, message: string) => {
    violations.push({ path, message, position: place(offsetOf(node)) });
    return null;
  };

  function toData(node: Node | null, path: Path, aliased: boolean): unknown {
    if (path.length > MAX_DEPTH) return report(path, node, `nested more than ${MAX_DEPTH} levels deep`);
    if (aliased && ++aliasedValues > MAX_ALIASED_VALUES) {
      return aliasedValues === MAX_ALIASED_VALUES + 1 ? report(path, node, "aliases expand to too many values") : null;
    }
    if (node === null) return null;
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target === undefined) return report(path, node, `no anchor '${node.source}' is defined before this alias`);
      return toData(target, path, true);
    }
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isSeq<Node>(node)) {
      const items = node.items.map((item, index) => toData(item, [...path, index], aliased));
      offsets.set(items, new Map(node.items.map((item, index) => [index, offsetOf(item ?? node)])));
      return items;
    }
    if (isMap<Node, Node | null>(node)) return toRecord(node, path, aliased);
    const value = isScalar(node) ? node.value : undefined;
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number" && Number.isFinite(value)) return value;
    return report(path, node, "expected a string, a number, a boolean or null");
  }

  /** Kong's YAML and JSON parsers keep the last value of a duplicate key; the author of the file may not know that. */
  function warnOfDuplicate(path: Path, first: number, key: Node): void {
    const { line, column } = place(first);
    const message = `duplicate key: this value replaces the one at ${line}:${column}, which is ignored`;
    warnings.push({ path, message, position: place(offsetOf(key)) });
  }

  function toRecord(map: YAMLMap<Node, Node | null>, path: Path, aliased: boolean): Record<string, unknown> {
    const own: Record<string, unknown> = {};
    const keys = new Map<string, number>();
    const merged: Record<string, unknown>[] = [];
    for (const { key, value } of map.items) {
      if (isMergeKey(key)) {
        const from = toData(value, path, aliased);
        for (const each of Array.isArray(from) ? from : [from]) {
          if (isRecord(each)) merged.push(each);
          else report(path, key, "<< expects a record, or a list of records");
        }
        continue;
      }
      const name = nameOf(key);
      if (name === undefined) report(path, key, "a member's name must be a string");
      else if (name === "__proto__") report([...path, name], key, "unknown field");
      else {
        const first = keys.get(name);
        // Duplicates in an aliased node were reported at its anchor.
        if (first !== undefined && !aliased) warnOfDuplicate([...path, name], first, key);
        keys.set(name, offsetOf(key));
        own[name] = toData(value, [...path, name], aliased);
      }
    }
    const inherited = merged.toReversed();
    const record = merged.length === 0 ? own : Object.assign({}, ...inherited, own);
    offsets.set(record, new Map([...inherited.flatMap((each) => [...(offsets.get(each) ?? [])]), ...keys]));
    return record;
  }

  const data = toData(root, [], false);
  if (violations.length > 0) return { violations };
  const positionOf = (path: Path): Position => {
    let value: unknown = data;
    let offset = offsetOf(root);
    for (const step of path) {
      offset = offsets.get(value)?.get(step) ?? offset;
      value = Object(value)[step];
    }
    return place(offset);
  };
  return { value: { data, warnings, positionOf } };
}

const offsetOf = (node: Node | null): number => node?.range?.[0] ?? 0;

/** YAML 1.1's `<<: *anchor`, which Kong's parser and decK support. */
const isMergeKey = (key: Node): boolean => isScalar(key) && key.type === "PLAIN" && key.value === "<<";

/** The name of a member; undefined if the key cannot be a name. `80: x` has the name "80", as in JSON. */
function nameOf(key: Node): string | undefined {
  if (!isScalar(key) || key.value === null || key.value === "") return undefined;
  return typeof key.value === "string" ? key.value : key.source;
}
