/** Limits for line length, header size and header count (the defaults; RFC 9112 section 3, RFC 6585 section 5). */
import { getRequest, parserCases } from "./case.ts";

const line = (length: number): string => {
  const rest = "GET  HTTP/1.1\r\n".length;
  return `GET /${"a".repeat(length - rest - 1)} HTTP/1.1\r\nHost: a\r\n\r\n`;
};
/** A request whose header lines and the empty line after them have this total size in bytes. */
const fields = (length: number): string => {
  const rest = "Host: a\r\nA: \r\n\r\n".length;
  return getRequest(`A: ${"b".repeat(length - rest)}\r\n`);
};

export const limits = parserCases([
  ["a request line of 8 KiB", line(8_192), { version: "1.1" }],
  ["a request line of 8 KiB plus one byte", line(8_193), "lineTooLong"],
  ["a request line without an end", `GET /${"a".repeat(9_000)}`, "lineTooLong"],
  ["a method without an end", "A".repeat(9_000), "lineTooLong"],
  ["a query without an end", `GET /?${"a".repeat(9_000)}`, "lineTooLong"],
  ["32 KiB of headers", fields(32_768), { version: "1.1" }],
  ["32 KiB of headers plus one byte", fields(32_769), "fieldsTooLarge"],
  ["a header value without an end", `GET / HTTP/1.1\r\nA: ${"b".repeat(33_000)}`, "fieldsTooLarge"],
  ["a header name without an end", `GET / HTTP/1.1\r\n${"A".repeat(33_000)}`, "fieldsTooLarge"],
  ["whitespace without an end", `GET / HTTP/1.1\r\nA:${" ".repeat(33_000)}`, "fieldsTooLarge"],
  ["100 headers", getRequest("A: b\r\n".repeat(99)), { version: "1.1" }],
  ["101 headers", getRequest("A: b\r\n".repeat(100)), "tooManyFields"],
  ["headers that do not end", `GET / HTTP/1.1\r\n${"A: b\r\n".repeat(200)}`, "tooManyFields"],
]);
