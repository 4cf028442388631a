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
  for (const edit of edits) lines += edit.lines;
  const headers = edits.map(({ header }) => header);
  return { headers, edits, lines, ...bitSetsOf(headers) };
}

const lengthBit = (length: number): number => 1 << (length & 31);

function bitSetsOf(headers: readonly HeaderName[]): Pick<HeaderEditGroup, "lengths" | "bits"> {
  const lengths = headers.reduce((set, { lower }) => set | lengthBit(lower.length), 0);
  return { lengths, bits: headers.reduce((set, { bit }) => set | bit, 0) };
}

/** Returns edits with these numbers as values. */
export type NumberedEdits = (numbers: readonly number[]) => HeaderEditGroup;

/**
 * Edits of distinct headers, of which some have a number as their value that differs between requests. The text around
 * the numbers is prepared, so that a request creates no edits.
 *
 * @param parts Edits, and in place of an edit with a number the name of its header
 * @returns a function whose argument has a number for each of these names, in the same order
 */
export function numberedEdits(parts: readonly (HeaderEdit | HeaderName)[]): NumberedEdits {
  const headers = parts.map((part) => (part instanceof HeaderName ? part : part.header));
  const texts: string[] = [];
  let text = "";
  for (const part of parts) {
    if (part instanceof HeaderName) {
      texts.push(`${text}${part.name}: `);
      text = "\r\n";
    } else text += part.lines;
  }
  const template: EditTemplate = { parts, headers, ...bitSetsOf(headers), texts: [...texts, text] };
  return (numbers) => new FilledTemplate(template, numbers);
}

interface EditTemplate extends Pick<HeaderEditGroup, "headers" | "lengths" | "bits"> {
  readonly parts: readonly (HeaderEdit | HeaderName)[];
  /** The text before each number, and after the last one. */
  readonly texts: readonly string[];
}

/** The single edits are created only if they are needed: for a list, or if another edit of a header follows. */
class FilledTemplate implements HeaderEditGroup {
  readonly #template: EditTemplate;
  readonly #numbers: readonly number[];
  #edits: readonly HeaderEdit[] | null = null;

  constructor(template: EditTemplate, numbers: readonly number[]) {
    this.#template = template;
    this.#numbers = numbers;
  }

  get headers(): readonly HeaderName[] {
    return this.#template.headers;
  }

  get lengths(): number {
    return this.#template.lengths;
  }

  get bits(): number {
    return this.#template.bits;
  }

  get lines(): string {
    const { texts } = this.#template;
    const numbers = this.#numbers;
    let lines = texts[0] ?? "";
    for (let at = 0; at < numbers.length; at++) lines = `${lines}${numbers[at]}${texts[at + 1]}`;
    return lines;
  }

  get edits(): readonly HeaderEdit[] {
    let next = 0;
    this.#edits ??= this.#template.parts.map((part) =>
      part instanceof HeaderName ? setHeaderEdit(part, String(this.#numbers[next++])) : part,
    );
    return this.#edits;
  }
}

/** Edits of a list of headers. Lists are flat: name, value, name, value. */
export class HeaderEditList implements HeaderEdits {
  /** The first edits, if they were a group, and no other edit of one of its headers followed. */
  #group: HeaderEditGroup | null = null;
  /** The other edits: at most one per name, in the order in which the names were first edited. */
  #edits: HeaderEdit[] = [];
  /** Bit sets of the edited names' lengths and of `HeaderName.bit`, so that most other names need no lookup. */
  #lengths = 0;
  #bits = 0;
  #insists = false;

  /** A new list with the same edits. */
  copy(): HeaderEditList {
    const copy = new HeaderEditList();
    copy.#edits = [...this.#edits];
    copy.#group = this.#group;
    copy.#lengths = this.#lengths;
    copy.#bits = this.#bits;
    copy.#insists = this.#insists;
    return copy;
  }

  set(name: string | HeaderName, value: string): void {
    this.apply(setHeaderEdit(name, value));
  }

  append(name: string, value: string): void {
    const header = new HeaderName(name);
    const before = this.editOf(header.lower);
    const values = [...(before?.values ?? []), wireValue(value)];
    this.apply(editOf(header, values, before?.replaces ?? false));
  }

  remove(name: string): void {
    this.apply(removeHeaderEdit(name));
  }

  apply(edit: HeaderEdit): void {
    const { lower, bit } = edit.header;
    if (this.#group !== null && (edit.foldedName !== null || indexIn(this.#group.headers, lower, bit) >= 0)) {
      this.#edits = [...this.#group.edits, ...this.#edits];
      this.#group = null;
    }
    if (edit.foldedName !== null) this.#insistOn(edit.foldedName);
    if (this.#edits.length === 0) this.#edits = [edit];
    else {
      const at = this.#indexOf(lower, bit);
      if (at >= 0) this.#edits[at] = edit;
      else this.#edits.push(edit);
    }
    this.#lengths |= lengthBit(lower.length);
    this.#bits |= bit;
  }

  applyAll(group: HeaderEditGroup): void {
    if (this.#group === null && this.#edits.length === 0) {
      this.#group = group;
      this.#lengths = group.lengths;
      this.#bits = group.bits;
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
    return this.#group === null ? this.#edits : [...this.#group.edits, ...this.#edits];
  }

  /** False: no edited header has a name of this length. True: one may have. */
  mayReplace(length: number): boolean {
    return (this.#lengths & lengthBit(length)) !== 0;
  }

  /** Whether the header (in lower case) is removed or replaced. */
  replaces(lower: string): boolean {
    return this.mayReplace(lower.length) && this.#replaces(lower, ANY_NAME);
  }

  /** As `replaces`, and faster. */
  replacesHeader({ lower, bit }: HeaderName): boolean {
    return (this.#bits & bit) !== 0 && this.#replaces(lower, bit);
  }

  /** The edit of the header (in lower case); undefined when it is not edited. */
  editOf(lower: string): HeaderEdit | undefined {
    return this.mayReplace(lower.length) ? this.#find(lower, ANY_NAME) : undefined;
  }

  /** The values that were set, as lines of a head. */
  get lines(): string {
    let all = this.#group === null ? "" : this.#group.lines;
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
    // Other spellings of the name have other bits.
    this.#bits = ANY_NAME;
    for (let at = this.#edits.length - 1; at >= 0; at--) {
      if (foldedName(this.#edits[at]?.header.lower ?? "") === name) this.#edits.splice(at, 1);
    }
  }

  #replaces(lower: string, bit: number): boolean {
    if (this.#find(lower, bit)?.replaces === true) return true;
    return this.#insists && this.#edits.some((edit) => edit.foldedName === foldedName(lower));
  }

  /** @param bit The name's `HeaderName.bit`, or ANY_NAME */
  #find(lower: string, bit: number): HeaderEdit | undefined {
    const group = this.#group;
    const inGroup = group === null ? -1 : indexIn(group.headers, lower, bit);
    if (inGroup >= 0) return group?.edits[inGroup];
    const at = this.#indexOf(lower, bit);
    return at < 0 ? undefined : this.#edits[at];
  }

  /** Index in `#edits`; -1 when none of them is an edit of the header (in lower case). */
  #indexOf(lower: string, bit: number): number {
    const edits = this.#edits;
    for (let at = 0; at < edits.length; at++) if (isNamed(edits[at]?.header, lower, bit)) return at;
    return -1;
  }
}

/** Index of the header (in lower case); -1 when it is not in the list. */
function indexIn(headers: readonly HeaderName[], lower: string, bit: number): number {
  for (let at = 0; at < headers.length; at++) if (isNamed(headers[at], lower, bit)) return at;
  return -1;
}

/** Comparing the bits first takes less time than comparing the names. */
const isNamed = (header: HeaderName | undefined, lower: string, bit: number): boolean =>
  header !== undefined && (header.bit & bit) !== 0 && header.lower === lower;

/** The bits of all names. */
const ANY_NAME = -1;

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
