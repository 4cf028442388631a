/** Names and values of a query or form (`a=1&b=2`), which can be changed. Unchanged pairs keep their bytes. */
import { byteString, type TemplateValue } from "@sluice/plugin-sdk";
import type { NamedMembers } from "./transform.ts";

interface Pair {
  readonly name: string;
  /** True for a name without `=`. */
  readonly value: string | true;
  /** The pair as it is sent. */
  readonly text: string;
}

const ENCODED = /\+|%[\da-f]{2}/gi;

/** Decodes to a byte string. A `%` that begins no escape is kept. */
const decode = (text: string): string =>
  /[%+]/.test(text)
    ? text.replace(ENCODED, (code) => (code === "+" ? " " : String.fromCharCode(Number.parseInt(code.slice(1), 16))))
    : text;

const encode = (bytes: string): string =>
  bytes.replace(/[^\w\-.~]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);

function pairOf(text: string): Pair {
  const equals = text.indexOf("=");
  if (equals < 0) return { name: decode(text), value: true, text };
  return { name: decode(text.slice(0, equals)), value: decode(text.slice(equals + 1)), text };
}

const newPair = (name: string, value: string | true): Pair => ({
  name,
  value,
  text: value === true ? encode(name) : `${encode(name)}=${encode(value)}`,
});

export class PairMembers implements NamedMembers {
  #pairs: Pair[];
  /** Whether a change was made. */
  changed = false;

  /** @param text Without a `?`; one character per byte */
  constructor(text: string) {
    this.#pairs = text
      .split("&")
      .filter((pair) => pair !== "")
      .map(pairOf);
  }

  /** The value of a name; undefined: none. Several values are joined by ", ". */
  valueOf(name: string): TemplateValue {
    const values = this.#pairs.filter((pair) => pair.name === name).map(({ value }) => value);
    return values.length < 2 ? values[0] : values.join(", ");
  }

  has(name: string): boolean {
    return this.#has(byteString(name));
  }

  remove(name: string): void {
    this.#remove(byteString(name));
  }

  rename(name: string, to: string): void {
    const bytes = byteString(name);
    this.#remove(to);
    this.#pairs = this.#pairs.map((pair) => (pair.name === bytes ? newPair(to, pair.value) : pair));
    this.changed = true;
  }

  set(name: string, value: string): void {
    const bytes = byteString(name);
    const index = this.#pairs.findIndex((pair) => pair.name === bytes);
    this.#pairs = this.#pairs.filter((pair, at) => at === index || pair.name !== bytes);
    if (index < 0) this.#pairs.push(newPair(bytes, value));
    else this.#pairs[index] = newPair(bytes, value);
    this.changed = true;
  }

  append(name: string, value: string): void {
    this.#pairs.push(newPair(byteString(name), value));
    this.changed = true;
  }

  /** Appends all pairs of a form. They are encoded again: a body may contain bytes that would end a request line. */
  appendAll(form: PairMembers): void {
    for (const { name, value } of form.#pairs) {
      this.#pairs.push(newPair(name, value));
      this.changed = true;
    }
  }

  get text(): string {
    return this.#pairs.map(({ text }) => text).join("&");
  }

  #has(name: string): boolean {
    return this.#pairs.some((pair) => pair.name === name);
  }

  #remove(name: string): void {
    if (!this.#has(name)) return;
    this.#pairs = this.#pairs.filter((pair) => pair.name !== name);
    this.changed = true;
  }
}
