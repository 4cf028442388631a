/** Parser of a request's head (RFC 9112 section 3). */
import { CR, isWord, LF, SP, TARGET, TOKEN } from "./bytes.ts";
import { fault } from "./faults.ts";
import { STRIDE } from "./fields.ts";
import {
  CHUNKED_BODY,
  CLOSE,
  findFraming,
  foundFraming,
  KEEP_ALIVE,
  LENGTH_BODY,
  NO_BODY,
  UPGRADE,
} from "./framing.ts";
import { HeadParser, method, methodId, VERSION_LENGTH, versionAt } from "./head-parser.ts";
import { hostEnd, readTarget, sameAuthority, type TargetAuthority } from "./target.ts";

const NOT_YET = -1;

export class RequestHeadParser extends HeadParser {
  methodStart = NOT_YET;
  methodEnd = NOT_YET;
  targetEnd = NOT_YET;
  /** Id of the method (see head-parser.ts); 0 for a method without an id. */
  method = 0;
  /** Whether the client expects `100 Continue`. */
  expectContinue = false;
  /** Whether the client sent any other expectation (417). */
  expectUnknown = false;
  /** Host and port of the target. */
  readonly authority: TargetAuthority = { start: 0, end: 0, defaultPort: 0 };

  protected override begin(): void {
    this.methodStart = NOT_YET;
    this.methodEnd = NOT_YET;
    this.targetEnd = NOT_YET;
  }

  protected override moveLine(distance: number): void {
    if (this.methodStart !== NOT_YET) this.methodStart += distance;
    if (this.methodEnd !== NOT_YET) this.methodEnd += distance;
    if (this.targetEnd !== NOT_YET) this.targetEnd += distance;
    this.authority.start += distance;
    this.authority.end += distance;
  }

  /** Method, target and version with one space between them. */
  protected override scanLine(bytes: Buffer, end: number): number {
    let { position } = this;
    if (this.methodStart === NOT_YET) {
      // One empty line is allowed before a request: some clients send one after a body (RFC 9112 section 2.2).
      if (position === end) return 0;
      if (bytes[position] === CR) {
        if (position + 1 === end) return 0;
        if (bytes[position + 1] !== LF) return fault.bareCr;
        position += 2;
      }
      this.methodStart = position;
    }
    const limit = this.methodStart + this.maxLine;
    const stop = end < limit ? end : limit;
    if (this.methodEnd === NOT_YET) {
      while (position < stop && TOKEN[bytes[position] ?? 0] === 1) position++;
      if (position >= stop) return this.#cut(position, stop === limit);
      if (bytes[position] !== SP) return bytes[position] === LF ? fault.bareLf : fault.method;
      if (position === this.methodStart) return fault.method;
      this.methodEnd = position;
      position++;
    }
    if (this.targetEnd === NOT_YET) {
      while (position < stop && TARGET[bytes[position] ?? 0] === 1) position++;
      if (position >= stop) return this.#cut(position, stop === limit);
      if (position === this.methodEnd + 1) return fault.requestLine;
      if (bytes[position] !== SP) {
        if (bytes[position] !== CR) return bytes[position] === LF ? fault.bareLf : fault.target;
        // A line without a version is an HTTP/0.9 request.
        if (position + 1 === stop) return this.#cut(position, stop === limit);
        return bytes[position + 1] === LF ? fault.version : fault.bareCr;
      }
      this.targetEnd = position;
      position++;
    }
    const version = versionAt(bytes, position, stop);
    if (version < 0) return version;
    const behind = position + VERSION_LENGTH;
    if (version === 0 || behind === stop) return this.#cut(position, stop === limit);
    if (bytes[behind] !== CR) return bytes[behind] === LF ? fault.bareLf : fault.requestLine;
    if (behind + 1 === stop) return this.#cut(position, stop === limit);
    if (bytes[behind + 1] !== LF) return fault.bareCr;
    this.minorVersion = version - 1;
    this.method = methodId(bytes, this.methodStart, this.methodEnd);
    const misfit = readTarget(this, bytes, this.authority);
    return misfit < 0 ? misfit : behind + 2;
  }

  /** Result for a line that continues beyond the available bytes. */
  #cut(position: number, isTooLong: boolean): number {
    this.position = position;
    return isTooLong ? fault.lineTooLong : 0;
  }

  protected override readFraming(): number {
    const { bytes, offsets } = this.fields;
    const misfit = findFraming(this.fields);
    if (misfit < 0) return misfit;
    const isNewest = this.minorVersion === 1;
    const hostFault = this.#readHost();
    if (hostFault < 0) return hostFault;
    if (foundFraming.chunked && !isNewest) return fault.codingVersion;
    this.contentLength = foundFraming.length;
    this.bodyKind = foundFraming.chunked ? CHUNKED_BODY : foundFraming.length > 0 ? LENGTH_BODY : NO_BODY;
    const { connection } = foundFraming;
    this.keepAlive = (connection & CLOSE) === 0 && (isNewest || (connection & KEEP_ALIVE) !== 0);
    if (this.method === method.CONNECT && this.bodyKind !== NO_BODY) return fault.connectBody;
    this.upgrade = isNewest && foundFraming.upgrade && (connection & UPGRADE) !== 0;
    this.expectContinue = false;
    this.expectUnknown = false;
    // HTTP/1.0 has no expectations (RFC 9110 section 10.1.1).
    if (foundFraming.expect >= 0 && isNewest) {
      const at = foundFraming.expect * STRIDE;
      this.expectContinue = isWord(bytes, offsets[at + 2] ?? 0, offsets[at + 3] ?? 0, "100-continue");
      this.expectUnknown = !this.expectContinue;
    }
    return 0;
  }

  /**
   * Checks that a request has one Host (HTTP/1.0: at most one), that it is valid, and that it does not contradict a
   * target in absolute form (RFC 9112 section 3.2). Returns 0 or a fault.
   */
  #readHost(): number {
    const { bytes, offsets } = this.fields;
    if (foundFraming.hosts > 1) return fault.hostRepeated;
    if (foundFraming.hosts === 0) return this.minorVersion === 1 ? fault.hostMissing : 0;
    const start = offsets[foundFraming.host * STRIDE + 2] ?? 0;
    const end = offsets[foundFraming.host * STRIDE + 3] ?? 0;
    if (hostEnd(bytes, start, end) < 0) return fault.hostSyntax;
    if (this.authority.defaultPort === 0) return 0;
    return sameAuthority(bytes, this.authority, { start, end }) ? 0 : fault.hostContradicts;
  }
}
