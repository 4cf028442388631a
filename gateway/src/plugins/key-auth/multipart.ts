/** Parts of a multipart/form-data body (RFC 7578), read whole. Text is Latin-1: one character for a byte. */
import { headerParameters } from "./header-parameters.ts";

interface Part {
  readonly name: string;
  readonly value: string;
  /** From the beginning of its delimiter to the beginning of the next. */
  readonly start: number;
  readonly end: number;
}

/** Undefined when the type names none, or more than one: another reader could take the other. */
export function boundaryOf(contentType: string): string | undefined {
  const [boundary, ...others] = (headerParameters(contentType) ?? []).filter(({ name }) => name === "boundary");
  return others.length === 0 ? boundary?.value || undefined : undefined;
}

/** Where the delimiters begin: `--boundary` at the beginning of a line, up to the closing one. */
function delimiters(text: string, delimiter: string): readonly number[] {
  const found: number[] = [];
  for (let at = text.indexOf(delimiter); at !== -1; at = text.indexOf(delimiter, at + delimiter.length)) {
    if (at !== 0 && !text.startsWith("\r\n", at - 2)) continue;
    found.push(at);
    if (text.startsWith("--", at + delimiter.length)) break;
  }
  return found;
}

/** A part that has several names stands once for each. */
export function multipartParts(text: string, boundary: string): readonly Part[] {
  const delimiter = `--${boundary}`;
  const starts = delimiters(text, delimiter);
  const parts: Part[] = [];
  for (const [index, start] of starts.entries()) {
    const end = starts[index + 1];
    if (end === undefined) break;
    const head = text.indexOf("\r\n", start + delimiter.length);
    if (head === -1 || head >= end) continue;
    // Only in the part: a body of many parts without an end of their heads would be searched for each of them.
    const length = text.slice(head, end).indexOf("\r\n\r\n");
    if (length === -1) continue;
    const blank = head + length;
    const value = text.slice(blank + 4, end - 2);
    for (const name of namesOf(text.slice(head, blank))) parts.push({ name, value, start, end });
  }
  return parts;
}

/** The names that a part's Content-Disposition gives it: one, unless the part was made to deceive. */
function namesOf(headers: string): readonly string[] {
  return headers
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n")
    .filter((line) => /^content-disposition:/i.test(line))
    .flatMap((line) => headerParameters(line) ?? [])
    .filter(({ name }) => name === "name")
    .map(({ value }) => value);
}

export function withoutParts(text: string, boundary: string, names: readonly string[]): string {
  let rest = "";
  let from = 0;
  for (const { name, start, end } of multipartParts(text, boundary)) {
    if (!names.includes(name) || start < from) continue;
    rest += text.slice(from, start);
    from = end;
  }
  return rest + text.slice(from);
}
