/**
 * Finds out whether the operation of an event stream has failed (GraphQL over server-sent events, the distinct
 * connections mode): whether one of its events has a result with errors. An event is kept until it is complete.
 */
import { hasErrors, parsedJson } from "./requests/parameters.ts";

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const DATA = Buffer.from("data:");
/** Events without this part have no errors, and are not parsed. */
const ERRORS = Buffer.from('"errors"');
/** Maximum number of parts of a line, and of lines of an event, because each takes memory beside its bytes. */
const MAX_PARTS = 1000;

const NOTHING = Buffer.alloc(0);

const joined = (parts: readonly Buffer[]): Buffer =>
  parts.length === 1 ? (parts[0] ?? NOTHING) : Buffer.concat(parts);

export class FailedEvents {
  readonly #limit: number;
  /** The parts of the line that has begun, and its length. */
  #line: Buffer[] = [];
  #lineLength = 0;
  /** The data of the event that has begun, and the bytes of all its lines. */
  #data: Buffer[] = [];
  #bytes = 0;
  #isTooLong = false;
  #hasFailed = false;

  /** @param limit Maximum bytes of an event that is read. Errors in longer events are not found */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether the operation of the stream has failed. A stream has one operation. */
  has(): boolean {
    return this.#hasFailed;
  }

  search(piece: Buffer): void {
    let rest = piece;
    while (!this.#hasFailed && rest.length > 0) {
      const end = rest.indexOf(LINE_FEED);
      this.#addToLine(end < 0 ? rest : rest.subarray(0, end));
      if (end < 0) return;
      this.#endLine();
      rest = rest.subarray(end + 1);
    }
  }

  #addToLine(part: Buffer): void {
    this.#lineLength += part.length;
    this.#bytes += part.length;
    if (this.#bytes > this.#limit || this.#line.length >= MAX_PARTS || this.#data.length >= MAX_PARTS) {
      this.#isTooLong = true;
      this.#line = [];
      this.#data = [];
    }
    if (!this.#isTooLong && part.length > 0) this.#line.push(part);
  }

  #endLine(): void {
    const line = joined(this.#line);
    const length = this.#lineLength;
    this.#line = [];
    this.#lineLength = 0;
    // Lines may end with CR LF. An empty line ends the event.
    if (length === 0 || (length === 1 && line[0] === CARRIAGE_RETURN)) this.#endEvent();
    else if (line.subarray(0, DATA.length).equals(DATA)) this.#data.push(line.subarray(DATA.length));
  }

  #endEvent(): void {
    const data = joined(this.#data);
    this.#data = [];
    this.#bytes = 0;
    this.#isTooLong = false;
    if (data.includes(ERRORS) && hasErrors(parsedJson(data.toString())?.value)) this.#hasFailed = true;
  }
}
