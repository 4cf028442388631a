/** A section's fields as text, created on demand. Bytes are decoded as Latin-1, as Node's parser does. */
import { LOWER } from "./bytes.ts";
import { DROP, type FieldSection, ID, STRIDE } from "./fields.ts";
import { knownId, LOOKALIKE } from "./names.ts";

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
export const nameAt = ({ bytes, offsets }: FieldSection, index: number): string =>
  bytes.toString("latin1", offsets[index * STRIDE] ?? 0, offsets[index * STRIDE + 1] ?? 0);

export const valueAt = ({ bytes, offsets }: FieldSection, index: number): string =>
  bytes.toString("latin1", offsets[index * STRIDE + 2] ?? 0, offsets[index * STRIDE + 3] ?? 0);

/** The value of a name (in lower case); several are joined as Node joins them. Undefined when absent. */
export function headerOf(section: FieldSection, name: string): string | undefined {
  const first = indexOf(section, name);
  if (first < 0) return undefined;
  let value = valueAt(section, first);
  let next = indexOf(section, name, first + 1);
  if (next < 0 || onlyFirst.has(name)) return value;
  const between = name === "cookie" ? "; " : ", ";
  for (; next >= 0; next = indexOf(section, name, next + 1)) value += between + valueAt(section, next);
  return value;
}

const NONE: readonly string[] = [];

/** All values of a name (in lower case), not joined. */
export function headerValues(section: FieldSection, name: string): readonly string[] {
  const first = indexOf(section, name);
  if (first < 0) return NONE;
  const values = [valueAt(section, first)];
  for (let index = indexOf(section, name, first + 1); index >= 0; index = indexOf(section, name, index + 1)) {
    values.push(valueAt(section, index));
  }
  return values;
}

/** Flat list in received order: name, value, name, value. */
export function rawHeaders(section: FieldSection): string[] {
  const flat: string[] = [];
  for (let index = 0; index < section.count; index++) flat.push(nameAt(section, index), valueAt(section, index));
  return flat;
}

/** The same without hop-by-hop fields. */
export function passedFields(section: FieldSection): string[] {
  const flat: string[] = [];
  for (let index = 0; index < section.count; index++) {
    if (((section.kinds[index] ?? 0) & DROP) === 0) flat.push(nameAt(section, index), valueAt(section, index));
  }
  return flat;
}

/** Of these names Node keeps the first field and discards the others (node:http, `message.headers`). */
export const onlyFirst: ReadonlySet<string> = new Set([
  ...["age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host"],
  ...["if-modified-since", "if-unmodified-since", "last-modified", "location", "max-forwards"],
  ...["proxy-authorization", "referer", "retry-after", "server", "user-agent"],
]);
