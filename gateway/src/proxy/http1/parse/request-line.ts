/** The request line: method, target and version with one space between them (RFC 9112 section 3). */
import { CR, LF, SP, TARGET, TOKEN } from "./bytes.ts";
import { fault } from "./faults.ts";
import { VERSION_LENGTH, versionAt } from "./start-line.ts";
import { type RequestTargetParts, readTarget } from "./target.ts";

export const NOT_YET = -1;

/** The members of `RequestHeadParser` that the scan of its request line reads and sets. */
export interface RequestLineParts extends RequestTargetParts {
  readonly maxLine: number;
  methodStart: number;
  methodEnd: number;
  targetEnd: number;
  minorVersion: number;
  position: number;
}

/** Continues the scan. Returns the offset after the line, 0 when more bytes are needed, or a fault. */
export function scanRequestLine(head: RequestLineParts, bytes: Buffer, end: number): number {
  let position = head.position;
  if (head.methodStart === NOT_YET) {
    // One empty line is allowed before a request: some clients send one after a body (RFC 9112 section 2.2).
    if (position === end) return 0;
    if (bytes[position] === CR) {
      if (position + 1 === end) return 0;
      if (bytes[position + 1] !== LF) return fault.bareCr;
      position += 2;
    }
    head.methodStart = position;
  }
  const limit = head.methodStart + head.maxLine;
  const stop = end < limit ? end : limit;
  if (head.methodEnd === NOT_YET) {
    while (position < stop && TOKEN[bytes[position] ?? 0] === 1) position++;
    if (position >= stop) return cut(head, position, stop === limit);
    if (bytes[position] !== SP) return bytes[position] === LF ? fault.bareLf : fault.method;
    if (position === head.methodStart) return fault.method;
    head.methodEnd = position;
    position++;
  }
  if (head.targetEnd === NOT_YET) {
    while (position < stop && TARGET[bytes[position] ?? 0] === 1) position++;
    if (position >= stop) return cut(head, position, stop === limit);
    if (position === head.methodEnd + 1) return fault.requestLine;
    if (bytes[position] !== SP) {
      if (bytes[position] !== CR) return bytes[position] === LF ? fault.bareLf : fault.target;
      // A line without a version is an HTTP/0.9 request.
      if (position + 1 === stop) return cut(head, position, stop === limit);
      return bytes[position + 1] === LF ? fault.version : fault.bareCr;
    }
    head.targetEnd = position;
    position++;
  }
  const version = versionAt(bytes, position, stop);
  if (version < 0) return version;
  const behind = position + VERSION_LENGTH;
  if (version === 0 || behind === stop) return cut(head, position, stop === limit);
  if (bytes[behind] !== CR) return bytes[behind] === LF ? fault.bareLf : fault.requestLine;
  if (behind + 1 === stop) return cut(head, position, stop === limit);
  if (bytes[behind + 1] !== LF) return fault.bareCr;
  head.minorVersion = version - 1;
  const misfit = readTarget(head, bytes);
  return misfit < 0 ? misfit : behind + 2;
}

/** Result for a line that continues beyond the available bytes. */
function cut(head: RequestLineParts, position: number, tooLong: boolean): number {
  head.position = position;
  return tooLong ? fault.lineTooLong : 0;
}
