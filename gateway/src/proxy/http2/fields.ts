/** Fields of HTTP/2 messages: flat lists (name, value, name, value), with names in lower case and pseudo-fields first. */
import type { OutgoingHttpHeaders } from "node:http2";
import { isStrippedHeader } from "../headers/upstream-headers.ts";

/** About one connection: HTTP/2 has no such fields (RFC 9113 section 8.2.2). */
export const connectionSpecific: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Behind a pseudo-field `:`. */
const COLON = 0x3a;

export const isPseudo = (name: string): boolean => name.charCodeAt(0) === COLON;

/** The list without pseudo-fields. */
export function regularFields(flat: readonly string[]): string[] {
  const fields: string[] = [];
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at] ?? "";
    if (!isPseudo(name)) fields.push(name, flat[at + 1] ?? "");
  }
  return fields;
}

/** The head of a response as it goes on the wire. What plugins or faults say about an HTTP/1.1 connection stays behind. */
export function responseFields(status: number, headers: readonly string[]): string[] {
  const fields = [":status", String(status)];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? "";
    const lower = name.toLowerCase();
    if (!connectionSpecific.has(lower)) fields.push(lower, headers[at + 1] ?? "");
  }
  return fields;
}

/** Trailers that pass, by name; a field that frames, routes or vouches must have stood in the head (RFC 9110 section 6.5.1). */
export function passedTrailers(flat: readonly string[]): OutgoingHttpHeaders {
  const trailers: Record<string, string[]> = Object.create(null);
  for (let at = 0; at < flat.length; at += 2) {
    const lower = (flat[at] ?? "").toLowerCase();
    if (isPseudo(lower) || isStrippedHeader(lower)) continue;
    trailers[lower] ??= [];
    trailers[lower].push(flat[at + 1] ?? "");
  }
  return trailers;
}

/** Trailers as lines of HTTP/1.1, and back. Neither names nor values can hold what ends a line. */
export function linesOf(trailers: OutgoingHttpHeaders): string {
  let lines = "";
  for (const [name, values] of Object.entries(trailers)) {
    for (const value of Array.isArray(values) ? values : [values]) lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

export function fieldsOf(lines: string): string[] {
  const flat: string[] = [];
  for (const line of lines.split("\r\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) flat.push(line.slice(0, colon), line.slice(colon + 2));
  }
  return flat;
}

/** Bytes of a list, as HTTP/1.1 would write it. */
export function sizeOf(flat: readonly string[]): number {
  let size = 0;
  for (const text of flat) size += text.length + 2;
  return size;
}
