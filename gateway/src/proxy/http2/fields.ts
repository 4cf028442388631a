/** Fields of HTTP/2 messages as flat lists: name, value, name, value. */
import { knownId } from "../http1/parse/field-names.ts";

/** Connection-specific fields, which HTTP/2 does not have (RFC 9113 section 8.2.2). */
export const connectionSpecific: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

export const connectionFieldIds: ReadonlySet<number> = new Set([...connectionSpecific].map(knownId));

export const isPseudo = (name: string): boolean => name.startsWith(":");

/** The parts of a request's head. */
export interface RequestParts {
  readonly method: string;
  readonly scheme: "http" | "https";
  /** Path and query. */
  readonly path: string;
  /** Flat list with the Host header. */
  readonly headers: readonly string[];
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
