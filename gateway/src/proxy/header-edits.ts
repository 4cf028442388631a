import type { HeaderEdits } from "./exchange.ts";

interface Edit {
  readonly name: string;
  readonly values: readonly string[];
  /** Whether values that are there already go away. */
  readonly replaces: boolean;
}

/** Edits of a list of headers. Lists are flat: name, value, name, value. */
export class HeaderEditList implements HeaderEdits {
  /** By lower-case name. */
  readonly #edits = new Map<string, Edit>();
  /** One bit for each length of name that is replaced: most others need not be looked up. */
  #lengths = 0;

  set(name: string, value: string): void {
    this.#edits.set(name.toLowerCase(), { name, values: [wireValue(value)], replaces: true });
    this.#lengths |= 1 << (name.length & 31);
  }

  append(name: string, value: string): void {
    const key = name.toLowerCase();
    const before = this.#edits.get(key);
    const values = [...(before?.values ?? []), wireValue(value)];
    this.#edits.set(key, { name, values, replaces: before?.replaces ?? false });
  }

  remove(name: string): void {
    this.#edits.set(name.toLowerCase(), { name, values: [], replaces: true });
    this.#lengths |= 1 << (name.length & 31);
  }

  /** False: no header whose name is so long is replaced or removed. */
  mayReplace(length: number): boolean {
    return (this.#lengths & (1 << (length & 31))) !== 0;
  }

  /** Whether the header goes away, or is written anew. */
  replaces(name: string): boolean {
    return this.mayReplace(name.length) && this.#edits.get(name.toLowerCase())?.replaces === true;
  }

  /** What was set, as lines of a head. */
  get lines(): string {
    let lines = "";
    for (const { name, values } of this.#edits.values()) for (const value of values) lines += `${name}: ${value}\r\n`;
    return lines;
  }

  /** The list with the edits made; edited headers stand at its end. */
  applyTo(headers: readonly string[]): string[] {
    const result: string[] = [];
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] ?? "";
      if (!this.replaces(name)) result.push(name, headers[at + 1] ?? "");
    }
    for (const { name, values } of this.#edits.values()) {
      for (const value of values) result.push(name, value);
    }
    return result;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a range of all bytes
const NOT_A_BYTE = /[^\x00-\xff]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]/g;

/** One character for one byte, as HTTP libraries take it; text beyond that goes as UTF-8. No line can be broken. */
const wireValue = (value: string): string =>
  (NOT_A_BYTE.test(value) ? Buffer.from(value, "utf8").toString("latin1") : value).replace(CONTROLS, "");
