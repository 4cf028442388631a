/** The parsers under test, driven as an engine drives them. */

import { CHUNK_DATA, CHUNK_END, ChunkedScanner } from "../../../gateway/src/proxy/http1/parse/chunked.ts";
import { fault } from "../../../gateway/src/proxy/http1/parse/faults.ts";
import { rawHeaders } from "../../../gateway/src/proxy/http1/parse/fields.ts";
import { CHUNKED_BODY, LENGTH_BODY, UNTIL_CLOSE } from "../../../gateway/src/proxy/http1/parse/framing.ts";
import { method } from "../../../gateway/src/proxy/http1/parse/head-parser.ts";
import { RequestHeadParser } from "../../../gateway/src/proxy/http1/parse/request-head.ts";
import { ResponseHeadParser } from "../../../gateway/src/proxy/http1/parse/response-head.ts";
import type { Direction, ParsedMessage, ParsedStream } from "./reading.ts";

export type AskedMethod = keyof typeof method;

const NOTHING = Buffer.alloc(0);
/** A prefix before the kept bytes of a head, so that the offset of the head changes. */
const MOVED = Buffer.from("....");

/** Parses the bytes of one connection piece by piece. */
export class OurReader {
  readonly #direction: Direction;
  readonly #asked: AskedMethod;
  readonly #request = new RequestHeadParser();
  readonly #response = new ResponseHeadParser();
  readonly #chunks = new ChunkedScanner();
  readonly #messages: ParsedMessage[] = [];
  #state: "head" | "length" | "chunked" | "close" | "last" | "refused" = "head";
  /** The bytes of an incomplete head. */
  #pending: Buffer = NOTHING;
  #open: ParsedStream["open"] = null;
  #body = "";
  #left = 0;
  #fault: string | null = null;
  /** The offset in the connection at which the current buffer begins. */
  #before = 0;
  /** The offset of the current message. */
  #rest = 0;

  constructor(direction: Direction, asked: AskedMethod = "GET") {
    this.#direction = direction;
    this.#asked = asked;
    this.#response.reset(method[asked]);
  }

  push(piece: Buffer): void {
    // The kept bytes move to other offsets, so the parsers must adjust the offsets that they remember.
    const { length } = this.#pending;
    const bytes = length > 0 ? Buffer.concat([MOVED, this.#pending, piece]) : piece;
    let at = length > 0 ? MOVED.length : 0;
    this.#before -= length > 0 ? at + length : 0;
    this.#pending = NOTHING;
    while (at < bytes.length && this.#state !== "last" && this.#state !== "refused") {
      at = this.#step(bytes, at);
      if (this.#state === "head" && this.#pending.length === 0) this.#rest = this.#before + at;
    }
    this.#before += bytes.length;
  }

  /** Must be called when the sender has closed the connection. Returns the result for all pushed bytes. */
  end(): ParsedStream {
    if (this.#state === "close") this.#finish([]);
    const { length } = this.#pending;
    const ending =
      this.#state === "last" || this.#state === "refused"
        ? this.#state
        : this.#open === null && length === 0
          ? "all"
          : "more";
    return { messages: this.#messages, open: this.#open, ending, fault: this.#fault, rest: this.#rest };
  }

  #step(bytes: Buffer, at: number): number {
    const { length } = bytes;
    if (this.#state === "head") return this.#head(bytes, at);
    if (this.#state === "chunked") return this.#chunked(bytes, at);
    const taken = this.#state === "length" ? Math.min(this.#left, length - at) : length - at;
    this.#body += bytes.toString("latin1", at, at + taken);
    this.#left -= taken;
    if (this.#state === "length" && this.#left === 0) this.#finish([]);
    return at + taken;
  }

  #head(bytes: Buffer, at: number): number {
    const head = this.#direction === "requests" ? this.#request : this.#response;
    const result = head.parse(bytes, at, bytes.length);
    if (result < 0) return this.#refuse(result, bytes);
    if (result === 0) {
      this.#pending = bytes.subarray(at);
      return bytes.length;
    }
    this.#open = {
      line: head instanceof RequestHeadParser ? requestLine(head) : statusLine(head),
      version: `1.${head.minorVersion}`,
      headers: rawHeaders(head.fields),
      keepAlive:
        head.keepAlive && !head.upgrade && !(head instanceof RequestHeadParser && head.method === method.CONNECT),
    };
    this.#body = "";
    if (head.bodyKind === CHUNKED_BODY) {
      this.#state = "chunked";
      this.#chunks.reset();
    } else if (head.bodyKind === UNTIL_CLOSE) this.#state = "close";
    else if (head.bodyKind === LENGTH_BODY) {
      this.#state = "length";
      this.#left = head.contentLength;
    } else this.#finish([]);
    return result;
  }

  #chunked(bytes: Buffer, start: number): number {
    const chunks = this.#chunks;
    const result = chunks.next(bytes, start, bytes.length);
    if (result < 0) return this.#refuse(result, bytes);
    if (result === CHUNK_DATA) this.#body += bytes.toString("latin1", chunks.dataStart, chunks.dataEnd);
    if (result === CHUNK_END) this.#finish(rawHeaders(chunks.trailers));
    return chunks.position;
  }

  #finish(trailers: readonly string[]): void {
    const open = this.#open;
    if (open === null) throw new Error("a message ended that had not begun");
    this.#messages.push({ ...open, body: this.#body, trailers });
    this.#open = null;
    this.#state = open.keepAlive ? "head" : "last";
    this.#response.reset(method[this.#asked]);
  }

  #refuse(result: number, bytes: Buffer): number {
    this.#state = "refused";
    this.#fault = Object.entries(fault).find(([, code]) => code === result)?.[0] ?? String(result);
    return bytes.length;
  }
}

const requestLine = ({ fields: { bytes }, methodStart, methodEnd, targetEnd }: RequestHeadParser): [string, string] => [
  bytes.toString("latin1", methodStart, methodEnd),
  bytes.toString("latin1", methodEnd + 1, targetEnd),
];

const statusLine = ({ fields: { bytes }, status, reasonStart, reasonEnd }: ResponseHeadParser): [string, string] => [
  String(status),
  bytes.toString("latin1", reasonStart, reasonEnd),
];

/** Our parser's result for a whole connection, with its bytes in Latin-1. */
export function readOurs(
  text: string,
  { direction, asked }: { direction: Direction; asked?: AskedMethod },
): ParsedStream {
  const reader = new OurReader(direction, asked);
  reader.push(Buffer.from(text, "latin1"));
  return reader.end();
}
