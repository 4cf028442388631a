import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRequestTarget } from "../../exchange/request-target.ts";
import { parseErrorOf } from "./faults.ts";
import { DROP, fieldValueAt, headerOf, PLAIN } from "./fields.ts";
import { CHUNKED_BODY, LENGTH_BODY, NO_BODY } from "./framing.ts";
import { method, methodNames } from "./head-parser.ts";
import { RequestHeadParser } from "./request-head.ts";

function parsed(text: string, head = new RequestHeadParser()): RequestHeadParser {
  const bytes = Buffer.from(text, "latin1");
  const result = head.parse(bytes, 0, bytes.length);
  assert.equal(result, bytes.length, result < 0 ? parseErrorOf(result).reason : "incomplete");
  return head;
}

/** The parts of the target as the pipeline reads them, and the host as text. */
function parts(head: RequestHeadParser) {
  const text = (start: number, end: number) => head.fields.bytes.toString("latin1", start, end);
  const read = parseRequestTarget(text(head.methodEnd + 1, head.targetEnd));
  const target = typeof read === "string" ? { sentPath: "", query: "", plain: false } : read;
  const authority = text(head.authority.start, head.authority.end);
  const host = headerOf(head.fields, "host") ?? authority;
  return { path: target.sentPath, query: target.query, authority, host, plain: target.plain };
}

const targets: readonly (readonly [
  line: string,
  host: string,
  path: string,
  query: string,
  authority: string,
  plain: boolean,
])[] = [
  ["GET /a/b?c=d?e", "h", "/a/b", "?c=d?e", "", true],
  ["GET /", "h:80", "/", "", "", true],
  ["GET /a//b?", "h", "/a//b", "?", "", false],
  ["GET /a/../b", "h", "/a/../b", "", "", false],
  ["GET /a/.b", "h", "/a/.b", "", "", false],
  ["GET /a.b/c", "h", "/a.b/c", "", "", true],
  ["GET /a%20b", "h", "/a%20b", "", "", false],
  ['GET /a"b', "h", '/a"b', "", "", false],
  ["GET http://h/a?b", "h", "/a", "?b", "h", true],
  ["GET https://H:443?b", "h", "/", "?b", "H:443", true],
  ["GET http://h", "h", "/", "", "h", true],
  ["OPTIONS *", "h", "", "", "", false],
  ["CONNECT h:1", "h", "", "", "h:1", false],
];

for (const [line, host, path, query, authority, plain] of targets) {
  test(`the target of "${line}" is split into its parts`, () => {
    const head = parsed(`${line} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    assert.deepEqual(parts(head), { path, query, authority, host, plain });
  });
}

test("the host of an HTTP/1.0 request without Host is the authority of its target", () => {
  assert.equal(parts(parsed("GET http://h:81/ HTTP/1.0\r\n\r\n")).host, "h:81");
  assert.equal(parts(parsed("GET / HTTP/1.0\r\n\r\n")).host, "");
});

test("common methods have ids, but only in upper case", () => {
  for (const [name, id] of Object.entries(method)) {
    const target = name === "CONNECT" ? "a:1" : "/";
    assert.equal(parsed(`${name} ${target} HTTP/1.1\r\nHost: a\r\n\r\n`).method, id);
    assert.equal(methodNames[id], name);
  }
  for (const name of ["get", "GE", "GETS", "Q"]) {
    assert.equal(parsed(`${name} / HTTP/1.1\r\nHost: a\r\n\r\n`).method, 0);
  }
});

const bodies: readonly (readonly [version: string, lines: string, kind: number, length: number])[] = [
  ["1.1", "", NO_BODY, -1],
  ["1.1", "Content-Length: 0\r\n", NO_BODY, 0],
  ["1.1", "Content-Length: 9007199254740991\r\n", LENGTH_BODY, Number.MAX_SAFE_INTEGER],
  ["1.0", "Content-Length: 7\r\n", LENGTH_BODY, 7],
  ["1.1", "Transfer-Encoding: chunked\r\n", CHUNKED_BODY, -1],
];

for (const [version, lines, kind, length] of bodies) {
  test(`the framing of an HTTP/${version} request with ${lines.trim() || "no framing header"} is recognized`, () => {
    const head = parsed(`POST / HTTP/${version}\r\nHost: a\r\n${lines}\r\n`);
    assert.deepEqual([head.bodyKind, head.contentLength], [kind, length]);
  });
}

const expectations: readonly (readonly [version: string, value: string, waits: boolean, unknown: boolean])[] = [
  ["1.1", "100-continue", true, false],
  ["1.1", "100-Continue", true, false],
  ["1.1", "100-continue, x", false, true],
  ["1.1", "", false, true],
  ["1.0", "100-continue", false, false],
];

for (const [version, value, waits, unknown] of expectations) {
  test(`"Expect: ${value}" in HTTP/${version} is ${unknown ? "unknown" : waits ? "recognized" : "ignored"}`, () => {
    const head = parsed(`POST / HTTP/${version}\r\nHost: a\r\nExpect: ${value}\r\n\r\n`);
    assert.deepEqual([head.expectContinue, head.expectUnknown], [waits, unknown]);
  });
}

const kept = ({ fields }: RequestHeadParser): readonly string[] =>
  Array.from({ length: fields.count }, (_, index) => index)
    .filter((index) => ((fields.kinds[index] ?? 0) & DROP) === 0)
    .map((index) => fieldValueAt(fields, index));

test("hop-by-hop headers, Transfer_Encoding, Content_Length, and headers listed in Connection are marked with DROP", () => {
  const lines = [
    ...["Host: host", "Connection: close, X-Hop , x-other,Upgrade", "Keep-Alive: 1", "TE: 2", "Trailer: 3", "X-HOP: 4"],
    ...["Proxy-Connection: 5", "Upgrade: 6", "HTTP2-Settings: 7", "x-other: 8", "Transfer_Encoding: 9", "X-Hops: kept"],
    ...["Content_Length: 10", "Connection: again", "again: 11", "Expect: 100-continue", "X_Hop: underscore"],
  ];
  const head = parsed(`GET / HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  assert.deepEqual(kept(head), ["host", "kept", "100-continue", "underscore"]);
});

test("a header line is marked PLAIN if it is in the form in which the gateway writes lines", () => {
  const head = parsed("GET / HTTP/1.1\r\nHost: a\r\nA:b\r\nB:  c\r\nC: d \r\nD:\te\r\nE: f g\r\nF: \r\nG:\r\n\r\n");
  const plain = Array.from(head.fields.kinds.subarray(0, head.fields.count), (kind) => (kind & PLAIN) !== 0);
  assert.deepEqual(plain, [true, false, false, false, false, true, true, false]);
});

test("a scan continues at the position at which it stopped, even if the bytes have moved", () => {
  const text = "\r\nPOST http://host/path?query HTTP/1.1\r\nHost: host\r\nContent-Length:  12 \r\nX: y\r\n\r\n";
  const head = new RequestHeadParser();
  for (let length = 1; length < text.length; length++) {
    const offset = (length * 7) % 13;
    const bytes = Buffer.from(" ".repeat(offset) + text.slice(0, length), "latin1");
    assert.equal(head.parse(bytes, offset, bytes.length), 0);
    const at = Math.max(head.position, head.fields.position);
    const known = length > text.indexOf("HTTP/") && length < text.indexOf("Host:") ? "HTTP/1.1\r\n".length : 2;
    assert.ok(at >= bytes.length - known, `${length} bytes have arrived, but the scan is at ${at - offset}`);
  }
  const bytes = Buffer.from(`${"-".repeat(20)}${text}GET`, "latin1");
  assert.equal(head.parse(bytes, 20, bytes.length), 20 + text.length);
  assert.deepEqual(parts(head), { path: "/path", query: "?query", authority: "host", host: "host", plain: true });
  assert.equal(head.contentLength, 12);
  assert.equal(bytes.toString("latin1", head.methodStart, head.methodEnd), "POST");
});

test("a head parser can be reused for many requests, also after an error and an incomplete request", () => {
  const head = new RequestHeadParser();
  parsed("PUT http://a/x HTTP/1.0\r\nExpect: x\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\n", head);
  const faulty = Buffer.from("GET / HTTP/1.1\r\nHost : a\r\n\r\n");
  assert.ok(head.parse(faulty, 0, faulty.length) < 0);
  const broken = Buffer.from("GET / HTTP/1.1\r\nHos");
  assert.equal(head.parse(broken, 0, broken.length), 0);
  head.reset();
  parsed("GET /y HTTP/1.1\r\nHost: b\r\n\r\n", head);
  assert.deepEqual(parts(head), { path: "/y", query: "", authority: "", host: "b", plain: true });
  assert.deepEqual([head.bodyKind, head.contentLength, head.expectUnknown, head.fields.count], [NO_BODY, -1, false, 1]);
});

test("the parser applies the limits of line length, size of all headers, and number of headers", () => {
  const results = [
    "GET /123456 HTTP/1.1\r\n",
    "GET / HTTP/1.1\r\nHost: 12345678901\r\n\r\n",
    "GET / HTTP/1.1\r\nA:\r\nB:\r\nC:",
  ].map((text) => {
    const head = new RequestHeadParser({ line: 20, fields: 20, count: 2 });
    return parseErrorOf(head.parse(Buffer.from(text), 0, text.length)).status;
  });
  assert.deepEqual(results, [414, 431, 431]);
});
