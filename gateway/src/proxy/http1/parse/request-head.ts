/** Parser of a request's head: one scan of its bytes, then framing and connection handling. */
import { isWord } from "./bytes.ts";
import { fault } from "./faults.ts";
import { FieldSection, STRIDE, scanFields } from "./fields.ts";
import { CHUNKED_BODY, CLOSE, findFraming, found, KEEP_ALIVE, LENGTH_BODY, NO_BODY, UPGRADE } from "./framing.ts";
import type { RequestLineParts } from "./request-line.ts";
import { NOT_YET, scanRequestLine } from "./request-line.ts";
import { method } from "./start-line.ts";
import { ABSOLUTE_FORM, hostEnd, ORIGIN_FORM, sameAuthority } from "./target.ts";

export interface HeadLimits {
  /** Maximum bytes of the first line: 414 for a request. */
  readonly line: number;
  /** Maximum bytes of all header lines with the empty line after them: 431. */
  readonly fields: number;
  /** Maximum number of header lines: 431. */
  readonly count: number;
}

export const defaultHeadLimits: HeadLimits = { line: 8_192, fields: 32_768, count: 100 };

/**
 * Reused for every request of a connection, or of a process: it holds only the state of one head. All offsets are
 * absolute in `fields.bytes`. Members other than those of the scan are valid once `parse` returned more than 0.
 */
export class RequestHeadParser implements RequestLineParts {
  readonly fields: FieldSection;
  readonly maxLine: number;
  methodStart = NOT_YET;
  methodEnd = NOT_YET;
  targetEnd = NOT_YET;
  /** See methods.ts; 0 for a method without an id. */
  method = 0;
  /** 1 for HTTP/1.1, 0 for HTTP/1.0 */
  minorVersion = 1;
  /** ORIGIN_FORM or another constant of target.ts. */
  targetForm = ORIGIN_FORM;
  /** Whether the scheme of an absolute-form target is https. */
  secureTarget = false;
  /** Path without the query. Empty for `*`, for CONNECT, and for `http://host` (which means `/`). */
  pathStart = 0;
  /** End of the path. The query with its `?` follows, up to `targetEnd`. */
  pathEnd = 0;
  /** Whether the path is already normal: nothing to decode, escape or merge. */
  plainPath = false;
  /** Host and port of the target; empty in origin and asterisk form. */
  authorityStart = 0;
  authorityEnd = 0;
  /** The value of Host; without Host (HTTP/1.0) the target's authority. May be empty. */
  hostStart = 0;
  hostEnd = 0;
  /** NO_BODY, LENGTH_BODY or CHUNKED_BODY. */
  bodyKind = NO_BODY;
  /** Content-Length; -1 when absent. */
  contentLength = -1;
  /** Whether the connection may be reused after this request. */
  keepAlive = true;
  /** Whether the client expects `100 Continue`. */
  expectContinue = false;
  /** Whether the client sent any other expectation (417). */
  expectUnknown = false;
  /** Whether the client asks for another protocol on this connection. */
  upgrade = false;
  /** Offset at which the scan of an incomplete first line continues. */
  position = 0;
  #start = 0;
  #inFields = false;
  #fresh = true;

  constructor({ line, fields, count }: HeadLimits = defaultHeadLimits) {
    this.maxLine = line;
    this.fields = new FieldSection({ bytes: fields, count });
  }

  /** Prepares for the next head. Required only after `parse` returned 0. */
  reset(): void {
    this.#fresh = true;
  }

  /**
   * Parses the head that begins at `start`. Returns the offset after it, or a fault (`parseErrorOf`), or 0 when the
   * head is incomplete: call again with the same bytes and more after them (buffer and start may differ).
   */
  parse(bytes: Buffer, start: number, end: number): number {
    if (this.#fresh) this.#begin(start);
    else if (start !== this.#start) this.#move(start - this.#start);
    if (!this.#inFields) {
      const behind = scanRequestLine(this, bytes, end);
      if (behind <= 0) return this.#done(behind);
      this.#inFields = true;
      this.fields.begin(behind);
    }
    const behind = scanFields(this.fields, bytes, end);
    if (behind <= 0) return this.#done(behind);
    const misfit = readRequestFraming(this);
    return this.#done(misfit < 0 ? misfit : behind);
  }

  #begin(start: number): void {
    this.#fresh = false;
    this.#inFields = false;
    this.#start = start;
    this.position = start;
    this.methodStart = NOT_YET;
    this.methodEnd = NOT_YET;
    this.targetEnd = NOT_YET;
  }

  #done(result: number): number {
    this.#fresh = result !== 0;
    return result;
  }

  #move(distance: number): void {
    this.#start += distance;
    this.position += distance;
    if (this.methodStart !== NOT_YET) this.methodStart += distance;
    if (this.methodEnd !== NOT_YET) this.methodEnd += distance;
    if (this.targetEnd !== NOT_YET) this.targetEnd += distance;
    if (!this.#inFields) return;
    this.pathStart += distance;
    this.pathEnd += distance;
    this.authorityStart += distance;
    this.authorityEnd += distance;
    this.fields.move(distance);
  }
}

/** Determines host, body and connection handling from the fields. Returns 0 or a fault. */
function readRequestFraming(head: RequestHeadParser): number {
  const { fields } = head;
  const { bytes, offsets } = fields;
  const misfit = findFraming(fields);
  if (misfit < 0) return misfit;
  const isNewest = head.minorVersion === 1;
  const hostFault = readHost(head);
  if (hostFault < 0) return hostFault;
  if (found.chunked && !isNewest) return fault.codingVersion;
  head.contentLength = found.length;
  head.bodyKind = found.chunked ? CHUNKED_BODY : found.length > 0 ? LENGTH_BODY : NO_BODY;
  const { connection } = found;
  head.keepAlive = (connection & CLOSE) === 0 && (isNewest || (connection & KEEP_ALIVE) !== 0);
  if (head.method === method.CONNECT && head.bodyKind !== NO_BODY) return fault.connectBody;
  head.upgrade = isNewest && found.upgrade && (connection & UPGRADE) !== 0;
  head.expectContinue = false;
  head.expectUnknown = false;
  // HTTP/1.0 has no expectations (RFC 9110 section 10.1.1).
  if (found.expect >= 0 && isNewest) {
    const at = found.expect * STRIDE;
    head.expectContinue = isWord(bytes, offsets[at + 2] ?? 0, offsets[at + 3] ?? 0, "100-continue");
    head.expectUnknown = !head.expectContinue;
  }
  return 0;
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;

/**
 * One valid Host in HTTP/1.1, at most one in HTTP/1.0, and it must not contradict the target (RFC 9112 section 3.2).
 */
function readHost(head: RequestHeadParser): number {
  const { bytes, offsets } = head.fields;
  if (found.hosts > 1) return fault.hostRepeated;
  if (found.hosts === 0) {
    if (head.minorVersion === 1) return fault.hostMissing;
    head.hostStart = head.authorityStart;
    head.hostEnd = head.authorityEnd;
    return 0;
  }
  const start = offsets[found.host * STRIDE + 2] ?? 0;
  const end = offsets[found.host * STRIDE + 3] ?? 0;
  head.hostStart = start;
  head.hostEnd = end;
  if (hostEnd(bytes, start, end) < 0) return fault.hostSyntax;
  if (head.targetForm !== ABSOLUTE_FORM) return 0;
  const authority = { start: head.authorityStart, end: head.authorityEnd };
  const port = head.secureTarget ? HTTPS_PORT : HTTP_PORT;
  return sameAuthority(bytes, authority, { start, end }, port) ? 0 : fault.hostContradicts;
}
