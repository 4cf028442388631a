/** Fields of HTTP/2 messages: flat lists (name, value, name, value), lower-case names, pseudo-header fields first. */
import type { OutgoingHttpHeaders } from "node:http2";
import { isStrippedHeader } from "../headers/upstream-headers.ts";

/** Connection-specific fields, which HTTP/2 does not have (RFC 9113 section 8.2.2). */
export const connectionSpecific: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

export const isPseudo = (name: string): boolean => name.startsWith(":");

/** The list without pseudo-header fields. */
export function regularFields(flat: readonly string[]): string[] {
  const fields: string[] = [];
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at] ?? "";
    if (!isPseudo(name)) fields.push(name, flat[at + 1] ?? "");
  }
  return fields;
}

/** The parts of a request's head. */
export interface RequestParts {
  readonly method: string;
  readonly scheme: "http" | "https";
  /** Path and query. */
  readonly path: string;
  /** Flat list with the Host header. */
  readonly headers: readonly string[];
}

/** A request head for HTTP/2. */
export function requestFields({ method, scheme, path, headers }: RequestParts): string[] {
  let authority = "";
  const fields: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] ?? "").toLowerCase();
    const value = headers[at + 1] ?? "";
    if (name === "host") authority = value;
    else fields.push(name, value);
  }
  return [":method", method, ":scheme", scheme, ":authority", authority, ":path", path, ...fields];
}

/** Forwarded trailers by name. Fields that affect framing, routing or identity are dropped (RFC 9110 section 6.5.1). */
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

/** Flat list of trailers that are HTTP/1.1 lines. */
export function fieldsOf(lines: string): string[] {
  const flat: string[] = [];
  for (const line of lines.split("\r\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) flat.push(line.slice(0, colon), line.slice(colon + 2));
  }
  return flat;
}

/** Bytes of the list in HTTP/1.1 format. */
export function sizeOf(flat: readonly string[]): number {
  let size = 0;
  for (const text of flat) size += text.length + 2;
  return size;
}
