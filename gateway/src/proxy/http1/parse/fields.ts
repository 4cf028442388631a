/**
 * Field lines of a head or of trailers: offsets of each name and value, and the id of the name. Text is created on
 * demand; bytes are decoded as Latin-1, as Node's parser does.
 */
import { COLON, CR, HTAB, LF, LOWER, SP, TOKEN, VALUE } from "./bytes.ts";
import { fault } from "./faults.ts";
import { headerIdOf, knownId, LOOKALIKE } from "./field-names.ts";

/**
 * Bits of `kinds` with the id of a known name (see field-names.ts); 0: unknown. LOOKALIKE (0x100) is a separate bit.
 */
export const ID = 0xff;
/** In `kinds`: the line is `Name: value` with one space and no trailing whitespace, so its bytes can be copied. */
export const PLAIN = 0x200;
/**
 * In `kinds`: the field is not forwarded. It is hop-by-hop, resembles a framing or hop-by-hop field, is listed in
 * Connection, or is forbidden in trailers.
 */
export const DROP = 0x400;

/** Entries per field in `offsets`: start and end of the name, start and end of the value without whitespace. */
export const STRIDE = 4;

const NOT_YET = -1;

export interface FieldLimits {
  /** Maximum bytes of the section, including the empty line that ends it. */
  readonly bytes: number;
  readonly count: number;
}

/** Reusable storage for one section. Offsets are absolute in `bytes`. */
export class FieldSection {
  bytes: Buffer = NO_BYTES;
  count = 0;
  readonly offsets: Int32Array;
  readonly kinds: Uint16Array;
  readonly maxBytes: number;
  readonly maxCount: number;
  /** Offset at which the section begins. */
  start = 0;
  /** Offset of the next line to scan; after the scan, the offset of the empty line. */
  line = 0;
  /** Offset up to which an incomplete line has been scanned. */
  position = 0;
  nameEnd = NOT_YET;
  valueStart = NOT_YET;

  constructor({ bytes, count }: FieldLimits) {
    this.maxBytes = bytes;
    this.maxCount = count;
    this.offsets = new Int32Array(count * STRIDE);
    this.kinds = new Uint16Array(count);
  }

  begin(start: number): void {
    this.count = 0;
    this.start = start;
    this.line = start;
    this.position = start;
    this.nameEnd = NOT_YET;
    this.valueStart = NOT_YET;
  }

  /** Adjusts all offsets after the bytes have moved by `distance`. */
  move(distance: number): void {
    this.start += distance;
    this.line += distance;
    this.position += distance;
    if (this.nameEnd !== NOT_YET) this.nameEnd += distance;
    if (this.valueStart !== NOT_YET) this.valueStart += distance;
    for (let at = this.count * STRIDE - 1; at >= 0; at--) this.offsets[at] = (this.offsets[at] ?? 0) + distance;
  }

  /** A copy of a complete section that stays valid when the bytes of the original are overwritten. */
  copy(): FieldSection {
    const { start, line, count } = this;
    const copy = new FieldSection({ bytes: line - start, count });
    copy.begin(start);
    copy.bytes = Buffer.from(this.bytes.subarray(0, line));
    copy.count = count;
    copy.line = line;
    copy.offsets.set(this.offsets.subarray(0, count * STRIDE));
    copy.kinds.set(this.kinds.subarray(0, count));
    return copy;
  }

  /** Removes all fields, and the reference to their bytes. */
  release(): void {
    this.bytes = NO_BYTES;
    this.count = 0;
  }
}

const NO_BYTES = Buffer.alloc(0);

/** Continues the scan. Returns the offset after the empty line, 0 when more bytes are needed, or a fault. */
export function scanFields(section: FieldSection, bytes: Buffer, end: number): number {
  const { offsets, kinds, maxCount } = section;
  const limit = section.start + section.maxBytes;
  const stop = end < limit ? end : limit;
  let { count, line, position, nameEnd, valueStart } = section;
  section.bytes = bytes;
  for (;;) {
    if (nameEnd === NOT_YET) {
      while (position < stop && TOKEN[bytes[position] ?? 0] === 1) position++;
      if (position === stop) break;
      if (position === line && bytes[position] === CR) {
        if (position + 1 === stop) break;
        if (bytes[position + 1] !== LF) return fault.bareCr;
        section.count = count;
        section.line = line;
        return position + 2;
      }
      if (bytes[position] !== COLON || position === line) return nameFault(bytes, line, position);
      if (count === maxCount) return fault.tooManyFields;
      nameEnd = position;
      position++;
    }
    if (valueStart === NOT_YET) {
      while (position < stop && isBlank(bytes[position] ?? 0)) position++;
      if (position === stop) break;
      valueStart = position;
    }
    while (position < stop && VALUE[bytes[position] ?? 0] === 1) position++;
    if (position === stop) break;
    if (bytes[position] !== CR) return bytes[position] === LF ? fault.bareLf : fault.fieldValue;
    if (position + 1 === stop) break;
    if (bytes[position + 1] !== LF) return fault.bareCr;
    let valueEnd = position;
    while (valueEnd > valueStart && isBlank(bytes[valueEnd - 1] ?? 0)) valueEnd--;
    const at = count * STRIDE;
    offsets[at] = line;
    offsets[at + 1] = nameEnd;
    offsets[at + 2] = valueStart;
    offsets[at + 3] = valueEnd;
    const plain = valueEnd === position && valueStart === nameEnd + 2 && bytes[nameEnd + 1] === SP;
    kinds[count] = headerIdOf(bytes, line, nameEnd) | (plain ? PLAIN : 0);
    count++;
    position += 2;
    line = position;
    nameEnd = NOT_YET;
    valueStart = NOT_YET;
  }
  section.count = count;
  section.line = line;
  section.position = position;
  section.nameEnd = nameEnd;
  section.valueStart = valueStart;
  return stop === limit ? fault.fieldsTooLarge : 0;
}

const isBlank = (byte: number): boolean => byte === SP || byte === HTAB;

/** The fault for the byte at `position`, which cannot end a name that begins at `line`. */
function nameFault(bytes: Buffer, line: number, position: number): number {
  const byte = bytes[position] ?? 0;
  if (byte === LF) return fault.bareLf;
  if (byte === CR) return fault.fieldName;
  if (isBlank(byte)) return position === line ? fault.obsoleteFold : fault.spaceBeforeColon;
  return fault.fieldName;
}

/** Index of the next field of this name (in lower case) at or after `from`; -1 when there is none. */
export function indexOf(section: FieldSection, name: string, from = 0): number {
  const { kinds, count } = section;
  const id = knownId(name);
  if (id === 0) return searchName(section, name, from);
  for (let index = from; index < count; index++) {
    if (((kinds[index] ?? 0) & (ID | LOOKALIKE)) === id) return index;
  }
  return -1;
}

function searchName({ bytes, offsets, count }: FieldSection, name: string, from: number): number {
  const { length } = name;
  for (let index = from; index < count; index++) {
    const start = offsets[index * STRIDE] ?? 0;
    if ((offsets[index * STRIDE + 1] ?? 0) - start !== length) continue;
    let at = 0;
    while (at < length && LOWER[bytes[start + at] ?? 0] === name.charCodeAt(at)) at++;
    if (at === length) return index;
  }
  return -1;
}

/** Name of a field in the case in which it was sent. */
export const fieldNameAt = ({ bytes, offsets }: FieldSection, index: number): string =>
  bytes.toString("latin1", offsets[index * STRIDE] ?? 0, offsets[index * STRIDE + 1] ?? 0);

export const fieldValueAt = ({ bytes, offsets }: FieldSection, index: number): string =>
  bytes.toString("latin1", offsets[index * STRIDE + 2] ?? 0, offsets[index * STRIDE + 3] ?? 0);

/** The value of a name (in lower case); several values are joined as Node joins them. Undefined when absent. */
export function headerOf(section: FieldSection, name: string): string | undefined {
  const first = indexOf(section, name);
  if (first < 0) return undefined;
  let value = fieldValueAt(section, first);
  let next = indexOf(section, name, first + 1);
  if (next < 0 || onlyFirst.has(name)) return value;
  const between = name === "cookie" ? "; " : ", ";
  for (; next >= 0; next = indexOf(section, name, next + 1)) value += between + fieldValueAt(section, next);
  return value;
}

const NONE: readonly string[] = [];

/** All values of a name (in lower case), not joined. */
export function headerValues(section: FieldSection, name: string): readonly string[] {
  const first = indexOf(section, name);
  if (first < 0) return NONE;
  const values = [fieldValueAt(section, first)];
  for (let index = indexOf(section, name, first + 1); index >= 0; index = indexOf(section, name, index + 1)) {
    values.push(fieldValueAt(section, index));
  }
  return values;
}

/** Flat list in received order: name, value, name, value. */
export function rawHeaders(section: FieldSection): string[] {
  const flat: string[] = [];
  for (let index = 0; index < section.count; index++)
    flat.push(fieldNameAt(section, index), fieldValueAt(section, index));
  return flat;
}

/**
 * All lines with their line ends; null unless each line has one space after its colon and no other whitespace at the
 * value's ends.
 */
export function plainLines({ bytes, kinds, count, start, line }: FieldSection): string | null {
  for (let index = 0; index < count; index++) if (((kinds[index] ?? 0) & PLAIN) === 0) return null;
  return bytes.toString("latin1", start, line);
}

/** Flat list in received order, without the fields that are marked with DROP. */
export function passedFields(section: FieldSection): string[] {
  const flat: string[] = [];
  for (let index = 0; index < section.count; index++) {
    if (((section.kinds[index] ?? 0) & DROP) === 0)
      flat.push(fieldNameAt(section, index), fieldValueAt(section, index));
  }
  return flat;
}

/** All values of a name (in lower case) among the forwarded fields. */
export function passedValues(section: FieldSection, name: string): readonly string[] {
  let values = NONE;
  for (let index = indexOf(section, name); index >= 0; index = indexOf(section, name, index + 1)) {
    if (((section.kinds[index] ?? 0) & DROP) === 0) values = [...values, fieldValueAt(section, index)];
  }
  return values;
}

/** Of these names Node keeps the first field and discards the others (node:http, `message.headers`). */
export const onlyFirst: ReadonlySet<string> = new Set([
  ...["age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host"],
  ...["if-modified-since", "if-unmodified-since", "last-modified", "location", "max-forwards"],
  ...["proxy-authorization", "referer", "retry-after", "server", "user-agent"],
]);
