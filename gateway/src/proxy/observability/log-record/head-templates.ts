/**
 * Most heads have the same lines as an earlier one, except for a few values such as dates and ids. A template has these
 * lines together with their JSON: a head that matches it is written as a few pieces, without looking at each line.
 */
import type { JsonBytes } from "./json-bytes.ts";

/** Returns the value of a header as the content of a JSON string. */
export type ValueWriter = (value: string) => string;

export interface HeaderRules {
  /** For headers whose value is recorded unchanged. */
  readonly unchanged: ValueWriter;
  /** For a header whose value is not recorded unchanged, by its lower-case name; null: it is recorded unchanged. */
  changed(lower: string): ValueWriter | null;
}

/** Maximum number of templates. */
const MAX_TEMPLATES = 8;
/** Maximum lines and characters of a head from which a template is made. */
const MAX_LINES = 64;
const MAX_CHARACTERS = 8192;
/** Of the heads that match no template, one in this many becomes one: making it takes as long as several records. */
const HEADS_PER_TEMPLATE = 32;

/** Text of a head that repeats: the end of a line, complete lines, and the start of a line up to its value. */
interface Literal {
  readonly text: string;
  /** The text as JSON. */
  readonly json: Uint8Array;
}

/** A copy: a part of a string keeps the whole string in memory. */
const copyOf = (text: string): string => Buffer.from(text, "latin1").toString("latin1");

const CR = 0x0d;

class HeadTemplate {
  /** Flat list: name, value, name, value. */
  readonly #headers: readonly string[];
  /** By the index of the line: whether its value differs between heads. */
  readonly #varies: readonly boolean[];
  /** One more than `#values`: a value follows each literal except the last. */
  readonly #literals: readonly Literal[];
  readonly #values: readonly (ValueWriter | null)[];
  readonly #unchanged: ValueWriter;

  /** @param before The template with the same names that the new one replaces; null: none */
  constructor(headers: readonly string[], rules: HeaderRules, before: HeadTemplate | null) {
    const varies: boolean[] = [];
    const literals: Literal[] = [];
    const values: (ValueWriter | null)[] = [];
    let text = "";
    let json = "{";
    const end = () => literals.push({ text: copyOf(text), json: Buffer.from(json) });
    for (let at = 0; at < headers.length; at += 2) {
      const [name = "", value = ""] = headers.slice(at, at + 2);
      const lower = name.toLowerCase();
      const writer = rules.changed(lower);
      varies.push(
        writer !== null || (before !== null && (before.#varies[at / 2] || before.#headers[at + 1] !== value)),
      );
      text += `${name}: `;
      json += `${at > 0 ? '",' : ""}${JSON.stringify(lower)}:"`;
      if (varies[at / 2]) {
        end();
        values.push(writer);
        text = "\r\n";
        json = "";
      } else {
        text += `${value}\r\n`;
        json += rules.unchanged(value);
      }
    }
    json += '"}';
    end();
    this.#headers = headers.map(copyOf);
    this.#varies = varies;
    this.#literals = literals;
    this.#values = values;
    this.#unchanged = rules.unchanged;
  }

  hasNamesOf(headers: readonly string[]): boolean {
    return (
      headers.length === this.#headers.length && headers.every((text, at) => at % 2 === 1 || text === this.#headers[at])
    );
  }

  /** Writes the headers as an object. Returns false and writes nothing if they do not match. */
  write(output: JsonBytes, head: string, start: number): boolean {
    const before = output.length;
    const literals = this.#literals;
    let at = start;
    for (let index = 0; index < literals.length; index++) {
      if (index > 0) at = this.#writeValue(output, head, at, this.#values[index - 1] ?? null);
      const { text, json } = literals[index] as Literal;
      if (at < 0 || head.slice(at, at + text.length) !== text) {
        output.length = before;
        return false;
      }
      output.piece(json);
      at += text.length;
    }
    if (at === head.length || head.charCodeAt(at) === CR) return true;
    output.length = before;
    return false;
  }

  /** Returns the offset of the line end; -1: there is none. */
  #writeValue(output: JsonBytes, head: string, start: number, writer: ValueWriter | null): number {
    const end = writer === null ? output.line(head, start) : -1;
    if (end >= 0) return end;
    const lineEnd = head.indexOf("\r\n", start);
    if (lineEnd >= 0) output.text((writer ?? this.#unchanged)(head.slice(start, lineEnd)));
    return lineEnd;
  }
}

export class HeadTemplates {
  /** The most recently used is the first. */
  readonly #templates: HeadTemplate[] = [];
  #unmatched = 0;

  /**
   * Writes the headers as an object. Returns false and writes nothing if no template matches.
   *
   * @param head Lines with one space after each colon, up to an empty line or the end
   * @param start Offset of the first line with a header
   */
  write(output: JsonBytes, head: string, start: number): boolean {
    const templates = this.#templates;
    for (let index = 0; index < templates.length; index++) {
      const template = templates[index] as HeadTemplate;
      if (!template.write(output, head, start)) continue;
      if (index > 0) {
        templates.splice(index, 1);
        templates.unshift(template);
      }
      return true;
    }
    return false;
  }

  /**
   * Makes a template of a head that matches none. If there is a template with the same names, the new one replaces it:
   * the values that differ become variable.
   *
   * @param headers Flat list: name, value, name, value
   */
  learn(headers: readonly string[], rules: HeaderRules): void {
    if (this.#unmatched++ % HEADS_PER_TEMPLATE > 0) return;
    const names = headers.filter((_, at) => at % 2 === 0);
    const characters = headers.reduce((sum, { length }) => sum + length, 0);
    if (names.length === 0 || names.length > MAX_LINES || characters > MAX_CHARACTERS) return;
    // The values of a repeated name are recorded as a list.
    if (new Set(names.map((name) => name.toLowerCase())).size < names.length) return;
    const at = this.#templates.findIndex((template) => template.hasNamesOf(headers));
    const [before = null] = at < 0 ? [] : this.#templates.splice(at, 1);
    this.#templates.unshift(new HeadTemplate(headers, rules, before));
    if (this.#templates.length > MAX_TEMPLATES) this.#templates.pop();
  }
}
