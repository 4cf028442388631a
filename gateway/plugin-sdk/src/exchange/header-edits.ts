import type { HeaderEdit, HeaderEditGroup, HeaderEdits } from "./exchange.ts";
import { foldedName, HeaderName } from "./header-name.ts";

/** An edit that replaces all values of a header by one. It can be created once and applied to many requests. */
export const setHeaderEdit = (name: string | HeaderName, value: string): HeaderEdit =>
  editOf(headerName(name), [wireValue(value)], true);

/**
 * Like `setHeaderEdit`, but also removes other spellings of the name (see `foldedName`), for headers that upstreams
 * trust.
 */
export function overrideHeaderEdit(name: string, value: string): HeaderEdit {
  const edit = setHeaderEdit(name, value);
  return { ...edit, foldedName: foldedName(edit.header.lower) };
}

/** An edit that removes a header. */
export const removeHeaderEdit = (name: string): HeaderEdit => editOf(new HeaderName(name), [], true);

const headerName = (name: string | HeaderName): HeaderName => (typeof name === "string" ? new HeaderName(name) : name);

/** Like `removeHeaderEdit`, but also removes other spellings of the name (see `foldedName`). */
export const purgeHeaderEdit = (name: string): HeaderEdit => ({
  ...removeHeaderEdit(name),
  foldedName: foldedName(name.toLowerCase()),
});

function editOf(header: HeaderName, values: readonly string[], replaces: boolean): HeaderEdit {
  let lines = "";
  for (const value of values) lines += `${header.name}: ${value}\r\n`;
  return { header, values, replaces, foldedName: null, lines };
}

/** Combines edits, which must be edits of distinct headers. */
export function editGroup(edits: readonly HeaderEdit[]): HeaderEditGroup {
  let lines = "";
  let lengths = 0;
  for (const edit of edits) {
    lines += edit.lines;
    lengths |= lengthBit(edit.header.lower.length);
  }
  return { edits, lines, lengths };
}

const lengthBit = (length: number): number => 1 << (length & 31);

/** Edits of a list of headers. Lists are flat: name, value, name, value. */
export class HeaderEditList implements HeaderEdits {
  /** At most one edit per name, in the order in which the names were first edited. */
  #edits: HeaderEdit[] = [];
  /** Set while a group is the only edit. Most requests have no other edits and allocate no list of their own. */
  #group: HeaderEditGroup | null = null;
  /** Bit set of the edited names' lengths, so that most other names need no lookup. */
  #lengths = 0;
  #insists = false;

  /** A new list with the same edits. */
  copy(): HeaderEditList {
    const copy = new HeaderEditList();
    copy.#edits = [...this.#edits];
    copy.#group = this.#group;
    copy.#lengths = this.#lengths;
    copy.#insists = this.#insists;
    return copy;
  }

  set(name: string | HeaderName, value: string): void {
    this.apply(setHeaderEdit(name, value));
  }

  append(name: string, value: string): void {
    const header = new HeaderName(name);
    const before = this.#all[this.#indexOf(header.lower)];
    const values = [...(before?.values ?? []), wireValue(value)];
    this.apply(editOf(header, values, before?.replaces ?? false));
  }

  remove(name: string): void {
    this.apply(removeHeaderEdit(name));
  }

  apply(edit: HeaderEdit): void {
    if (this.#group !== null) {
      this.#edits = [...this.#group.edits];
      this.#group = null;
    }
    if (edit.foldedName !== null) this.#insistOn(edit.foldedName);
    const { lower } = edit.header;
    const at = this.#indexOf(lower);
    if (at >= 0) this.#edits[at] = edit;
    else this.#edits.push(edit);
    this.#lengths |= lengthBit(lower.length);
  }

  applyAll(group: HeaderEditGroup): void {
    if (this.#group === null && this.#edits.length === 0) {
      this.#group = group;
      this.#lengths = group.lengths;
    } else for (const edit of group.edits) this.apply(edit);
  }

  /** Applies the edits of another list after those of this list. */
  applyList(later: HeaderEditList): void {
    for (const edit of later.#all) {
      if (edit.replaces) this.apply(edit);
      else for (const value of edit.values) this.append(edit.header.name, value);
    }
  }

  get #all(): readonly HeaderEdit[] {
    return this.#group === null ? this.#edits : this.#group.edits;
  }

  /** False: no edited header has a name of this length. True: one may have. */
  mayReplace(length: number): boolean {
    return (this.#lengths & lengthBit(length)) !== 0;
  }

  /** Whether the header (in lower case) is removed or replaced. */
  replaces(lower: string): boolean {
    const at = this.#indexOf(lower);
    if (at >= 0 && this.#all[at]?.replaces === true) return true;
    return this.#insists && this.#edits.some((edit) => edit.foldedName === foldedName(lower));
  }

  /** The edit of the header (in lower case); undefined when it is not edited. */
  editOf(lower: string): HeaderEdit | undefined {
    const at = this.#indexOf(lower);
    return at < 0 ? undefined : this.#all[at];
  }

  /** The values that were set, as lines of a head. */
  get lines(): string {
    if (this.#group !== null) return this.#group.lines;
    let all = "";
    for (const { lines } of this.#edits) all += lines;
    return all;
  }

  /** The list after the edits; edited headers are at its end. */
  applyTo(headers: readonly string[]): string[] {
    const result: string[] = [];
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] ?? "";
      if (!this.mayReplace(name.length) || !this.replaces(name.toLowerCase())) {
        result.push(name, headers[at + 1] ?? "");
      }
    }
    for (const { header, values } of this.#all) {
      for (const value of values) result.push(header.name, value);
    }
    return result;
  }

  /** The trailer lines whose names no edit removes or replaces, because some upstreams treat trailers as headers. */
  passedLines(trailers: string): string {
    let passed = "";
    for (const line of trailers.split("\r\n")) {
      const name = line.slice(0, line.indexOf(":")).toLowerCase();
      if (line !== "" && !this.replaces(name)) passed += `${line}\r\n`;
    }
    return passed;
  }

  /** Discards earlier edits of the name in any spelling. */
  #insistOn(name: string): void {
    this.#insists = true;
    for (let at = this.#edits.length - 1; at >= 0; at--) {
      if (foldedName(this.#edits[at]?.header.lower ?? "") === name) this.#edits.splice(at, 1);
    }
  }

  /** Index of the edit; -1 when the header (in lower case) is not edited. */
  #indexOf(lower: string): number {
    if (!this.mayReplace(lower.length)) return -1;
    const edits = this.#all;
    for (let at = 0; at < edits.length; at++) if (edits[at]?.header.lower === lower) return at;
    return -1;
  }
}

const NOT_A_BYTE = /[\u0100-\uffff]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]/g;

/**
 * The value in Latin-1, one character per byte, as HTTP libraries expect. Text beyond Latin-1 is sent as UTF-8. Line
 * breaks and other control characters are removed.
 */
export function wireValue(value: string): string {
  if (isPlain(value)) return value;
  return (NOT_A_BYTE.test(value) ? Buffer.from(value, "utf8").toString("latin1") : value).replace(CONTROLS, "");
}

/** Whether the value is printable ASCII, as nearly all values are. Faster than two regular expressions. */
function isPlain(value: string): boolean {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}
