/** Heads as text on their way out: a field that passes is copied from the bytes that came, whole runs of lines at once. */
import type { HeaderEditList } from "../headers/header-edits.ts";
import type { HeaderName } from "../headers/header-name.ts";
import type { HeaderSink } from "../headers/header-sink.ts";
import { nameAt, valueAt } from "./parse/access.ts";
import { DROP, type FieldSection, ID, PLAIN, STRIDE } from "./parse/fields.ts";

/** By the ids of names (parse/names.ts): 1 where a field of the name stays behind. */
export type DropTable = Uint8Array;

export const NONE_DROPPED: DropTable = new Uint8Array(256);

/** The lines of the fields that pass. A line that is not written as we would write it is written anew. */
export function passedLines(section: FieldSection, dropped: DropTable, edits: HeaderEditList | null): string {
  const { bytes, offsets, kinds, count } = section;
  let text = "";
  /** Where a run of lines begins that pass as they are; below zero: there is none. */
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
        !edits.replaces(nameAt(section, index).toLowerCase()));
    if (passes && (kind & PLAIN) !== 0) {
      if (run < 0) run = start;
      runEnd = (offsets[at + 3] ?? 0) + 2;
      continue;
    }
    if (run >= 0) text += bytes.toString("latin1", run, runEnd);
    run = -1;
    if (passes) text += `${nameAt(section, index)}: ${valueAt(section, index)}\r\n`;
  }
  return run < 0 ? text : text + bytes.toString("latin1", run, runEnd);
}

/**
 * A head in the making: first the lines of our own, each behind the end of the line before, then those that pass, which
 * have their ends with them. So a line of our own is two texts joined, and there are a dozen in every exchange.
 */
export class HeadText implements HeaderSink {
  #text = "";
  #edits: HeaderEditList | null = null;

  /** @param firstLine Without its end */
  begin(firstLine: string, edits: HeaderEditList | null): void {
    this.#text = firstLine;
    this.#edits = edits;
  }

  /** Unless a plugin replaces it. */
  add(header: HeaderName, value: string): void {
    if (this.#edits === null || !this.#edits.replaces(header.lower)) this.#text += header.line(value);
  }

  /**
   * What passes, and behind it what plugins set: of two cookies of one name the later counts. Lines that follow bring
   * their ends with them.
   */
  end(passed: string): string {
    const text = `${this.#text}\r\n${passed}`;
    return this.#edits === null ? text : text + this.#edits.lines;
  }
}
