/**
 * Collects the fields of decoded header blocks: those of requests, validated (RFC 9113 section 8), and trailers. One
 * collector serves all connections of a listener, because a block is decoded in one call.
 */
import type { GatewayErrorName } from "../../../exchange/gateway-errors.ts";
import type { ClientBody } from "../../client/client-body.ts";
import type { ConnectionPeer } from "../../client/open-connection.ts";
import { HOST } from "../../exchange/request.ts";
import { type DropTable, passedLines } from "../../http1/head-text.ts";
import { CR, isText, isWord, LF, NINE, SLASH, TARGET, TOKEN, ZERO } from "../../http1/parse/bytes.ts";
import { type KnownName, knownFieldIds, LAST_HOP, LOOKALIKE } from "../../http1/parse/field-names.ts";
import { DROP, FieldSection, headerOf, ID, PLAIN, STRIDE } from "../../http1/parse/fields.ts";
import { type HeadLimits, methodId, methodNames } from "../../http1/parse/head-parser.ts";
import { connectionFieldIds } from "../fields.ts";
import { type DecodedField, type FieldReceiver, NO_MORE, roomFor } from "../hpack/decoder.ts";
import { ENTRY_COST } from "../hpack/dynamic-table.ts";
import { BAD_NAME, BAD_VALUE, type FieldRange, PSEUDO, pseudo } from "../hpack/field-kind.ts";
import { EXCESS, maxBlock } from "../limits.ts";
import { StreamHead } from "./stream-head.ts";
import { newWebSocketKey, WEBSOCKET } from "./websocket.ts";

/** The collected head of a request. */
export interface CollectedRequest {
  readonly peer: ConnectionPeer;
  /** Creates the body; null: the request has none. `declared` is null without Content-Length. */
  readonly createBody: ((declared: number | null) => ClientBody) | null;
}

/** Sections that are kept for the next requests. */
const MOST_FREE = 256;
const HOST_LINE = "host: ";
/** Lines that a section may have besides those of fields: Host, Cookie, and those of a WebSocket. */
const ADDED = 5;
/** Bytes of the lines of a WebSocket, rounded up. */
const HANDSHAKE_BYTES = 128;
/** Digits of a Content-Length. */
const MOST_DIGITS = 15;

/** Trailers with known names are dropped: these fields must arrive with the head (RFC 9110 section 6.5.1). */
const notInTrailers: DropTable = new Uint8Array(256).fill(1, 1);

export class FieldCollector implements FieldReceiver {
  readonly lines: Buffer;
  /** Whether the message is malformed: its stream is reset (RFC 9113 section 8.1.1). */
  isMalformed = false;
  /** Whether the block is so large that its stream is reset. */
  isExcessive = false;
  /** Bytes of the fields in HTTP/1.1 format. */
  textSize = 0;
  /** The protocol of an extended CONNECT (RFC 8441 section 4); null: the request is another one. */
  protocol: string | null = null;
  /** Bytes of the fields with the overhead of HPACK, as the limit counts them. */
  #size = 0;
  /** Null: the block was valid. */
  #fault: GatewayErrorName | null = null;
  readonly #limits: HeadLimits;
  readonly #free: FieldSection[] = [];
  #fields: FieldSection;
  /** Number of fields, kept or not, without pseudo-header fields. */
  #count = 0;
  #end = 0;
  #isTrailers = false;
  #method: string | null = null;
  #path: string | null = null;
  #scheme: string | null = null;
  #host: string | null = null;
  #hasHostField = false;
  #cookies = "";
  /** Content-Length; -1: none. */
  #length = -1;
  /** A valid authority, which the next requests usually have too. */
  #usualHost = "";

  constructor(limits: HeadLimits) {
    this.#limits = limits;
    this.lines = Buffer.allocUnsafeSlow(limits.fields + limits.line + HANDSHAKE_BYTES + roomFor(maxBlock(limits)));
    this.#fields = this.#newSection();
  }

  /** Prepares for a block. */
  begin(isTrailers: boolean): void {
    this.isMalformed = false;
    this.isExcessive = false;
    this.#size = 0;
    this.textSize = 0;
    this.#fault = null;
    this.#fields.count = 0;
    this.#count = 0;
    this.#end = 0;
    this.#isTrailers = isTrailers;
    this.#method = null;
    this.#path = null;
    this.#scheme = null;
    this.#host = null;
    this.#hasHostField = false;
    this.#cookies = "";
    this.#length = -1;
    this.protocol = null;
  }

  field(field: DecodedField): number {
    const { kind, nameStart } = field;
    const { fields, count } = this.#limits;
    const isPath = kind === (PSEUDO | pseudo.path);
    this.#size += field.nameEnd - nameStart + (field.valueEnd - field.valueStart) + ENTRY_COST;
    this.textSize += field.lineEnd - nameStart;
    // The target has a limit of its own.
    if (isPath) this.#size -= Math.min(field.valueEnd - field.valueStart, this.#limits.line);
    if ((kind & PSEUDO) === 0) this.#count++;
    // Trailers cannot be answered with an error any more, and must not be forwarded incompletely.
    const excess = this.#isTrailers ? 1 : EXCESS;
    if (this.#size > fields * excess || this.#count > count * excess) this.isExcessive = true;
    if ((kind & (BAD_NAME | BAD_VALUE)) !== 0) this.isMalformed = true;
    if (this.isExcessive) return NO_MORE;
    if (this.isMalformed) return nameStart;
    if ((kind & PSEUDO) !== 0) return this.#pseudo(field);
    if (this.#size > fields || this.#count > count) {
      this.#fault ??= "headTooLarge";
      return nameStart;
    }
    return this.#regular(field);
  }

  /** The Content-Length of the request; -1: none. */
  get declared(): number {
    return this.#length;
  }

  /** The head of the request whose block was decoded; it is valid until it is released. */
  head({ peer, createBody }: CollectedRequest): StreamHead {
    if (this.#cookies !== "") this.#addLine("cookie", this.#cookies, 0);
    const fault = this.#fault ?? this.#pseudoFault();
    const isWebSocket = fault === null && this.protocol !== null;
    if (isWebSocket) this.#addHandshake();
    const fields = this.#take();
    const declared = this.#length < 0 ? null : this.#length;
    return new StreamHead({
      method: isWebSocket ? "GET" : (this.#method ?? ""),
      target: this.#path ?? "",
      host: this.#host,
      fields,
      fault: fault ?? expectationFault(fields),
      declaresEmpty: declared === 0,
      peer,
      body: createBody?.(declared) ?? null,
    });
  }

  /** Checks the head as a whole. To be called before `head`. */
  checkRequest(ended: boolean): void {
    if (this.#method === null || this.#path === null || this.#scheme === null) {
      // CONNECT has neither a path nor a scheme, an extended CONNECT has both.
      if (this.#method !== "CONNECT" || this.protocol !== null) this.isMalformed = true;
    }
    if (this.protocol !== null) {
      if (this.#method !== "CONNECT") this.isMalformed = true;
      if (ended || this.#length >= 0) this.#fault ??= "badRequest";
    }
    if (this.#path === "" || (ended && this.#length > 0)) this.isMalformed = true;
  }

  /** The trailers that were decoded, as HTTP/1.1 lines. */
  trailers(): string {
    this.#fields.bytes = this.lines;
    const lines = passedLines(this.#fields, notInTrailers, null);
    this.#fields.release();
    return lines;
  }

  /** Takes back the storage of a head. */
  recycle(head: StreamHead): void {
    const fields = head.release();
    fields.release();
    if (fields.maxCount === this.#limits.count + ADDED && this.#free.length < MOST_FREE) this.#free.push(fields);
  }

  #newSection(): FieldSection {
    const { fields, count } = this.#limits;
    return new FieldSection({ bytes: fields, count: count + ADDED });
  }

  /** The collected section, with bytes of its own. */
  #take(): FieldSection {
    const fields = this.#fields;
    this.#fields = this.#free.pop() ?? this.#newSection();
    const bytes = Buffer.allocUnsafe(this.#end);
    this.lines.copy(bytes, 0, 0, this.#end);
    fields.bytes = bytes;
    fields.start = 0;
    fields.line = this.#end;
    return fields;
  }

  #pseudo({ kind, nameStart, valueStart, valueEnd }: DecodedField): number {
    const { lines } = this;
    // Pseudo-header fields come first, once each, and not in trailers (section 8.3).
    if (this.#isTrailers || this.#count > 0) this.isMalformed = true;
    else if ((kind & ID) === pseudo.method && this.#method === null) {
      const id = methodId(lines, valueStart, valueEnd);
      this.#method = id === 0 ? lines.toString("latin1", valueStart, valueEnd) : (methodNames[id] ?? "");
      if (!isOf(TOKEN, lines, valueStart, valueEnd)) this.#fault ??= "badRequest";
    } else if ((kind & ID) === pseudo.scheme && this.#scheme === null) {
      const length = valueEnd - valueStart;
      this.#scheme = length === 5 ? "https" : "http";
      if (!isWord(lines, valueStart, valueEnd, this.#scheme))
        this.#scheme = lines.toString("latin1", valueStart, valueEnd);
    } else if ((kind & ID) === pseudo.path && this.#path === null) {
      this.#path = lines.toString("latin1", valueStart, valueEnd);
      if (valueEnd - valueStart > this.#limits.line) this.#fault = "targetTooLong";
      else if (lines[valueStart] !== SLASH || !isOf(TARGET, lines, valueStart, valueEnd)) this.#fault ??= "badRequest";
    } else if ((kind & ID) === pseudo.authority && this.#host === null) {
      this.#host = this.#hostText(valueStart, valueEnd);
      return this.#addHost(nameStart, this.#host);
    } else if ((kind & ID) === pseudo.protocol && this.protocol === null) {
      this.protocol = lines.toString("latin1", valueStart, valueEnd);
    } else this.isMalformed = true;
    return nameStart;
  }

  #hostText(start: number, end: number): string {
    const usual = this.#usualHost;
    if (usual.length === end - start && isText(this.lines, start, usual)) return usual;
    const text = this.lines.toString("latin1", start, end);
    if (HOST.test(text)) this.#usualHost = text;
    else this.#fault ??= "badRequest";
    return text;
  }

  /** Writes the authority as a Host line over the line of `:authority`, which is longer. */
  #addHost(start: number, host: string): number {
    const { lines } = this;
    const valueStart = start + HOST_LINE.length;
    const valueEnd = valueStart + host.length;
    lines.write(HOST_LINE, start, "latin1");
    lines.write(host, valueStart, "latin1");
    lines[valueEnd] = CR;
    lines[valueEnd + 1] = LF;
    return this.#keep(knownFieldIds.host | PLAIN, { nameStart: start, nameEnd: valueStart - 2, valueStart, valueEnd });
  }

  #regular(field: DecodedField): number {
    const { kind, nameStart, valueStart, valueEnd } = field;
    const id = kind & ID;
    if (id === knownFieldIds.cookie && !this.#isTrailers && (kind & LOOKALIKE) === 0) {
      // A cookie may be split into several fields (section 8.2.3).
      const crumb = this.lines.toString("latin1", valueStart, valueEnd);
      this.#cookies = this.#cookies === "" ? crumb : `${this.#cookies}; ${crumb}`;
      return nameStart;
    }
    // The gateway makes the key of a WebSocket, because HTTP/2 has none (RFC 8441 section 5).
    if (this.protocol !== null && id === knownFieldIds["sec-websocket-key"]) return nameStart;
    if (id === 0 || id > LAST_HOP) return this.#keep(kind, field);
    if ((kind & LOOKALIKE) !== 0) return this.#keep(kind | DROP, field);
    if (connectionFieldIds.has(id)) this.isMalformed = true;
    else if (id === knownFieldIds.te && !isWord(this.lines, valueStart, valueEnd, "trailers")) this.isMalformed = true;
    if (this.isMalformed) return nameStart;
    if (id === knownFieldIds.host) return this.#isSameHost(field) ? this.#keep(kind, field) : nameStart;
    if (id === knownFieldIds["content-length"]) this.#readLength(valueStart, valueEnd);
    return this.#keep(
      id === knownFieldIds["content-length"] || id === knownFieldIds.expect ? kind : kind | DROP,
      field,
    );
  }

  /** Whether a Host field is to be kept: there is neither an authority nor another one (section 8.3.1). */
  #isSameHost({ valueStart, valueEnd }: DecodedField): boolean {
    if (this.#host === null) {
      this.#host = this.#hostText(valueStart, valueEnd);
      this.#hasHostField = true;
      return true;
    }
    const isSame = isWord(this.lines, valueStart, valueEnd, this.#host.toLowerCase());
    if (!isSame || this.#hasHostField) this.#fault ??= "badRequest";
    this.#hasHostField = true;
    return false;
  }

  #readLength(start: number, end: number): void {
    if (this.#length >= 0) this.isMalformed = true;
    let length = 0;
    for (let at = start; at < end; at++) {
      const digit = (this.lines[at] ?? 0) - ZERO;
      if (digit < 0 || digit > NINE - ZERO || at - start === MOST_DIGITS) this.isMalformed = true;
      length = length * 10 + digit;
    }
    if (start === end) this.isMalformed = true;
    this.#length = length;
  }

  /** @param flag DROP: the line is not forwarded as it is. 0: the line is forwarded */
  #addLine(name: KnownName, value: string, flag: number): void {
    const start = this.#end;
    this.lines.write(`${name}: ${value}\r\n`, start, "latin1");
    const nameEnd = start + name.length;
    const valueStart = nameEnd + 2;
    const range = { nameStart: start, nameEnd, valueStart, valueEnd: valueStart + value.length };
    this.#keep(knownFieldIds[name] | PLAIN | flag, range);
  }

  /** Adds what the same request has over HTTP/1.1 (RFC 6455 section 4.1). */
  #addHandshake(): void {
    this.#addLine("connection", "Upgrade", DROP);
    this.#addLine("upgrade", WEBSOCKET, DROP);
    this.#addLine("sec-websocket-key", newWebSocketKey(), 0);
  }

  /** Keeps the line at the end of the lines. Returns the offset after it. */
  #keep(kind: number, { nameStart, nameEnd, valueStart, valueEnd }: FieldRange): number {
    const fields = this.#fields;
    const at = fields.count * STRIDE;
    const { offsets } = fields;
    offsets[at] = nameStart;
    offsets[at + 1] = nameEnd;
    offsets[at + 2] = valueStart;
    offsets[at + 3] = valueEnd;
    fields.kinds[fields.count++] = kind;
    this.#end = valueEnd + 2;
    return this.#end;
  }

  /** Null: no fault. CONNECT without a protocol is refused, because a reverse proxy cannot forward it. */
  #pseudoFault(): GatewayErrorName | null {
    if (this.#method === "CONNECT" && this.protocol === null) return "badRequest";
    if ((this.#scheme !== "http" && this.#scheme !== "https") || this.#host === null) return "badRequest";
    return this.protocol === null || this.protocol.toLowerCase() === WEBSOCKET ? null : "unknownProtocol";
  }
}

/** Null: no fault. Only 100-continue is defined (RFC 9110 section 10.1.1). */
function expectationFault(fields: FieldSection): GatewayErrorName | null {
  const expectation = headerOf(fields, "expect");
  return expectation === undefined || expectation.toLowerCase() === "100-continue" ? null : "unknownExpectation";
}

function isOf(table: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (table[bytes[at] ?? 0] !== 1) return false;
  return end > start;
}
