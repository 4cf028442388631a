/** Heads as text to send: forwarded fields are copied from the received bytes, several consecutive lines at a time. */
import type { HeaderEditList, HeaderName } from "@sluice/plugin-sdk";
import type { HeaderSink } from "../headers/header-names.ts";
import { DROP, type FieldSection, fieldNameAt, fieldValueAt, ID, PLAIN, STRIDE } from "./parse/fields.ts";

/** Indexed by name id (parse/field-names.ts): 1 where fields of that name are dropped. */
export type DropTable = Uint8Array;

export const NONE_DROPPED: DropTable = new Uint8Array(256);

/** The lines of the forwarded fields. A line without the form `Name: value` (see PLAIN) is rewritten in that form. */
export function passedLines(section: FieldSection, dropped: DropTable, edits: HeaderEditList | null): string {
  const { bytes, offsets, kinds, count } = section;
  let text = "";
  /** Start of the current run of unchanged lines; negative: no run. */
  let run = -1;
  let runEnd = 0;
  for (let index = 0; index < count; index++) {
    const kind = kinds[index] ?? 0;
    const at = index * STRIDE;
    const start = offsets[at] ?? 0;
    const passes =
      (kind & DROP) === 0 &&
      dropped[kind & ID] === 0 &&
      (edits === null ||
        !edits.mayReplace((offsets[at + 1] ?? 0) - start) ||
        !edits.replaces(fieldNameAt(section, index).toLowerCase()));
    if (passes && (kind & PLAIN) !== 0) {
      if (run < 0) run = start;
      runEnd = (offsets[at + 3] ?? 0) + 2;
      continue;
    }
    if (run >= 0) text += bytes.toString("latin1", run, runEnd);
    run = -1;
    if (passes) text += `${fieldNameAt(section, index)}: ${fieldValueAt(section, index)}\r\n`;
  }
  return run < 0 ? text : text + bytes.toString("latin1", run, runEnd);
}

/**
 * Builds a head: first the gateway's own lines, each of which begins with the line end of the previous line, then
 * forwarded lines, which include their line ends. Adding one of the gateway's own lines, of which an exchange has about
 * a dozen, thus takes a single concatenation of two strings.
 */
export class HeadText implements HeaderSink {
  #text = "";
  #edits: HeaderEditList | null = null;

  /** @param firstLine Without its line end */
  begin(firstLine: string, edits: HeaderEditList | null): void {
    this.#text = firstLine;
    this.#edits = edits;
  }

  /** Adds a header unless a plugin replaces it. */
  add(header: HeaderName, value: string): void {
    if (this.#edits === null || !this.#edits.replacesHeader(header)) this.#text += header.line(value);
  }

  /**
   * Appends the forwarded lines, and after them the lines that plugins set: of several cookies with the same name,
   * clients use the last one. Appended lines include their line ends. Returns the head without the empty line that ends
   * it.
   */
  end(passed: string): string {
    const text = `${this.#text}\r\n${passed}`;
    return this.#edits === null ? text : text + this.#edits.lines;
  }
}
