/** Changes of a body: a JSON object, a form or a multipart form. */
import {
  appendToMember,
  boundaryOf,
  byteString,
  jsonObjectOf,
  jsonOf,
  multipartParts,
  type RawJsonObject,
  type TemplateScope,
  textOfBytes,
  textOfJsonObject,
} from "@sluice/plugin-sdk";
import { PairMembers } from "./pairs.ts";
import { type Actions, type NamedMembers, transformMembers } from "./transform.ts";

/** Maximum bytes of a body that is changed, because it is buffered. */
export const MAX_BODY = 1024 * 1024;

export type BodyType = "json" | "multipart" | "form";

/** The type of a body; null: another type, which is not changed. As in Kong, the type may be anywhere in the header. */
export function bodyTypeOf(contentType: string): BodyType | null {
  const lower = contentType.toLowerCase();
  if (lower.includes("application/json")) return "json";
  if (lower.includes("multipart/form-data")) return "multipart";
  return lower.includes("application/x-www-form-urlencoded") ? "form" : null;
}

/** Maximum members of a form or parts of a multipart form. */
const MAX_MEMBERS = 10_000;

/**
 * Thrown when the body cannot be changed: a part of a multipart form has several names, or values of the request would
 * add parts.
 */
export class InvalidBodyError extends Error {
  override readonly name = "InvalidBodyError";
}

export class TooManyMembersError extends Error {
  override readonly name = "TooManyMembersError";
}

interface BodyChange {
  readonly type: BodyType;
  readonly contentType: string;
  readonly actions: Actions;
  readonly scope: TemplateScope;
}

/** The changed body; null when it stays as it is, or is malformed. */
export function changedBody(body: Buffer, { type, contentType, actions, scope }: BodyChange): Buffer | null {
  if (type === "json") return changedJson(body, actions, scope);
  const text = body.toString("latin1");
  const members = type === "form" ? formOf(text) : Parts.of(text, contentType);
  if (members === null) return null;
  // As in Kong, the members of a multipart body are renamed before others are removed.
  if (type === "multipart" && text !== "") transformMembers(members, { ...NO_ACTIONS, rename: actions.rename }, scope);
  const rest = type === "multipart" ? { ...actions, rename: [], append: [] } : actions;
  transformMembers(members, rest, scope, text === "");
  return members.changed ? Buffer.from(members.text, "latin1") : null;
}

const NO_ACTIONS: Actions = { remove: [], rename: [], replace: [], add: [], append: [] };

/** The members of a form. Throws TooManyMembersError. */
export function formOf(text: string): PairMembers {
  limitMembers(text, "&");
  return new PairMembers(text);
}

/** Limits the number of members before they are parsed, because parsing a member costs far more than counting it. */
function limitMembers(text: string, delimiter: string): void {
  let count = 0;
  for (let at = text.indexOf(delimiter); at !== -1; at = text.indexOf(delimiter, at + delimiter.length)) count++;
  if (count > MAX_MEMBERS) throw new TooManyMembersError();
}

function changedJson(body: Buffer, actions: Actions, scope: TemplateScope): Buffer | null {
  const object = jsonObjectOf(body.length === 0 ? "{}" : body.toString("latin1"));
  if (object === null) return null;
  const members = new JsonMembers(object);
  transformMembers(members, actions, scope, body.length === 0);
  return members.changed ? Buffer.from(textOfJsonObject(object), "latin1") : null;
}

class JsonMembers implements NamedMembers {
  readonly #object: RawJsonObject;
  changed = false;

  constructor(object: RawJsonObject) {
    this.#object = object;
  }

  /** As in Kong (Lua), a member with the value `false` counts as absent, a member with the value `null` does not. */
  has(name: string): boolean {
    const value = this.#object.get(name);
    return value !== undefined && value !== "false";
  }

  remove(name: string): void {
    if (this.#object.delete(name)) this.changed = true;
  }

  rename(name: string, to: string): void {
    const value = this.#object.get(name) ?? "null";
    this.#object.delete(name);
    this.#object.set(textOfBytes(to), value);
    this.changed = true;
  }

  set(name: string, value: string): void {
    this.#object.set(name, jsonOf(textOfBytes(value)));
    this.changed = true;
  }

  append(name: string, value: string): void {
    if (appendToMember(this.#object, name, jsonOf(textOfBytes(value)))) this.changed = true;
  }
}

interface Part {
  /** Null for text between parts. */
  readonly name: string | null;
  readonly value: string;
  /** The whole part, with its delimiter. */
  readonly text: string;
}

/** Parts of a multipart body, parsed once. As in Kong, a changed part keeps only its name and loses other headers. */
class Parts implements NamedMembers {
  readonly #boundary: string;
  #parts: Part[];
  /** The end of the body, from the closing delimiter on. */
  readonly #closing: string;
  changed = false;

  private constructor(parts: Part[], closing: string, boundary: string) {
    this.#parts = parts;
    this.#closing = closing;
    this.#boundary = boundary;
  }

  /**
   * The parts of a body; null: the Content-Type has no boundary, or the body no closing delimiter. Throws
   * TooManyMembersError and InvalidBodyError.
   */
  static of(text: string, contentType: string): Parts | null {
    const boundary = boundaryOf(contentType);
    if (boundary === undefined) return null;
    if (text === "") return new Parts([], `--${boundary}--\r\n`, boundary);
    const end = closingDelimiter(text, boundary);
    if (end < 0) return null;
    limitMembers(text, `--${boundary}`);
    const parts: Part[] = [];
    let at = 0;
    let start = -1;
    for (const part of multipartParts(text, boundary)) {
      // `multipartParts` returns a part once for each of its names. Such a part is refused, because the upstream's
      // parser might choose another name.
      if (part.start === start) throw new InvalidBodyError();
      if (part.start > at) parts.push({ name: null, value: "", text: text.slice(at, part.start) });
      parts.push({ name: part.name, value: part.value, text: text.slice(part.start, part.end) });
      start = part.start;
      at = part.end;
    }
    if (end > at) parts.push({ name: null, value: "", text: text.slice(at, end) });
    return new Parts(parts, text.slice(end), boundary);
  }

  has(name: string): boolean {
    return this.#find(byteString(name)) !== undefined;
  }

  remove(name: string): void {
    const bytes = byteString(name);
    const rest = this.#parts.filter((part) => part.name !== bytes);
    if (rest.length === this.#parts.length) return;
    this.#parts = rest;
    this.changed = true;
  }

  rename(name: string, to: string): void {
    const value = this.#find(byteString(name))?.value ?? "";
    this.remove(name);
    this.set(textOfBytes(to), value);
  }

  set(name: string, value: string): void {
    this.remove(name);
    const bytes = byteString(name);
    const quoted = bytes.replace(/["\r\n]/g, (byte) => encodeURIComponent(byte));
    const text = `--${this.#boundary}\r\nContent-Disposition: form-data; name="${quoted}"\r\n\r\n${value}\r\n`;
    if (text.includes(`--${this.#boundary}`, 1)) throw new InvalidBodyError();
    this.#parts.push({ name: bytes, value, text });
    this.changed = true;
  }

  append(): void {}

  get text(): string {
    return this.#parts.map(({ text }) => text).join("") + this.#closing;
  }

  #find(bytes: string): Part | undefined {
    return this.#parts.find((part) => part.name === bytes);
  }
}

/** The start of the closing delimiter; -1: none. */
function closingDelimiter(text: string, boundary: string): number {
  const closing = `--${boundary}--`;
  for (let at = text.indexOf(closing); at !== -1; at = text.indexOf(closing, at + 1)) {
    if (at === 0 || text.startsWith("\r\n", at - 2)) return at;
  }
  return -1;
}
