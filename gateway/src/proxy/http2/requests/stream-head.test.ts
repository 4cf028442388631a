import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientBody } from "../../client/client-body.ts";
import { passedFields } from "../../http1/parse/fields.ts";
import { defaultHeadLimits } from "../../http1/parse/head-parser.ts";
import { listedHead } from "./listed-head.ts";
import { StreamHead } from "./stream-head.ts";

const peer = {
  peerAddress: "192.0.2.1",
  port: 8443,
  documentPort: null,
  scheme: "https",
  serverName: "a.example",
  localAddress: "127.0.0.1",
  clientCertificates: null,
  tlsVersion: "TLSv1.3",
  tlsCipher: "TLS_AES_256_GCM_SHA384",
} as const;
const pseudo = { ":method": "GET", ":scheme": "https", ":authority": "a.example", ":path": "/b?c" };

type Pseudo = Partial<Record<keyof typeof pseudo, string>>;

function read(fields: readonly string[], changes: Pseudo = {}, hasBody = false) {
  const first = Object.entries({ ...pseudo, ...changes }).filter(([, value]) => value !== "gone");
  const body = hasBody ? (declared: number | null) => new ClientBody(declared, () => {}) : null;
  return listedHead([...first.flat(), ...fields], { peer, limits: defaultHeadLimits, body });
}

function headOf(...request: Parameters<typeof read>): StreamHead {
  const head = read(...request);
  assert.ok(head instanceof StreamHead, `${head}`);
  return head;
}

/** The error of a request, whether it is answered or its stream is reset. */
function faultOf(...request: Parameters<typeof read>): string | null {
  const head = read(...request);
  return typeof head === "string" ? `reset: ${head}` : head.fault;
}

test("a head lists Host first and a single Cookie header, and takes method and target from pseudo-headers", () => {
  const head = headOf(["cookie", "a=1", "x-a", "b", "cookie", "c=2"]);
  assert.deepEqual(head.rawHeaders, ["host", "a.example", "x-a", "b", "cookie", "a=1; c=2"]);
  const {
    method,
    target,
    httpVersion,
    peer: { port, scheme, serverName },
    fault,
  } = head;
  assert.deepEqual(
    [method, target, httpVersion, port, scheme, serverName],
    ["GET", "/b?c", "2", 8443, "https", "a.example"],
  );
  assert.equal(fault, null);
});

test("repeated headers are joined, except those of which Node keeps a single value", () => {
  const head = headOf(["accept", "a", "authorization", "one", "accept", "b", "authorization", "two"]);
  assert.equal(head.header("accept"), "a, b");
  assert.equal(head.header("authorization"), "one");
  assert.deepEqual(head.headerValues("authorization"), ["one", "two"]);
  assert.equal(head.header("none"), undefined);
});

test("without :authority, the host is that of the Host header; a request may have both if they agree", () => {
  assert.equal(headOf(["host", "b.example"], { ":authority": "gone" }).header("host"), "b.example");
  assert.equal(headOf(["host", "A.example"]).fault, null);
});

test("fields that could be mistaken for known ones are marked, and the fields of a released head are gone", () => {
  const head = headOf(["transfer_encoding", "chunked", "x-forwarded.for", "1.1.1.1", "trailer", "x-sum", "x-b", "c"]);
  assert.deepEqual(passedFields(head.fields), ["host", "a.example", "x-forwarded.for", "1.1.1.1", "x-b", "c"]);
  assert.equal(head.header("trailer"), "x-sum");
  head.release();
  assert.deepEqual([head.header("x-b"), head.rawHeaders], [undefined, []]);
});

test("a request has a body if its stream is still open, and the body's length is the one in Content-Length", () => {
  assert.equal(headOf(["content-length", "0"]).body, null);
  assert.equal(headOf(["content-length", "7"], {}, true).body?.length, 7);
  assert.equal(headOf([], {}, true).body?.length, null);
});

const many = Array.from({ length: 101 }, (_, index) => [`x-${index}`, "a"]).flat();
const faulty: readonly (readonly [says: string, fields: readonly string[], changes: Pseudo, fault: string])[] = [
  ["a hop-by-hop header", ["connection", "close"], {}, "reset: badRequest"],
  ["a transfer coding", ["transfer-encoding", "chunked"], {}, "reset: badRequest"],
  ["TE other than trailers", ["te", "gzip"], {}, "reset: badRequest"],
  ["a name in upper case", ["X-A", "b"], {}, "reset: badRequest"],
  ["a name with a space", ["x a", "b"], {}, "reset: badRequest"],
  ["an empty name", ["", "b"], {}, "reset: badRequest"],
  ["a line end in a value", ["a", "b\r\nc: d"], {}, "reset: badRequest"],
  ["NUL in a value", ["a", "b\0c"], {}, "reset: badRequest"],
  ["a space around a value", ["a", " b"], {}, "reset: badRequest"],
  ["a space after a value", ["a", "b "], {}, "reset: badRequest"],
  ["two lengths", ["content-length", "1", "content-length", "1"], {}, "reset: badRequest"],
  ["a length with a sign", ["content-length", "+1"], {}, "reset: badRequest"],
  ["an empty length", ["content-length", ""], {}, "reset: badRequest"],
  ["a length of 16 digits", ["content-length", "1".repeat(16)], {}, "reset: badRequest"],
  ["a length without a body", ["content-length", "1"], {}, "reset: badRequest"],
  ["a pseudo-header after other headers", ["a", "b", ":path", "/"], { ":path": "gone" }, "reset: badRequest"],
  ["a repeated pseudo-header", [":path", "/"], {}, "reset: badRequest"],
  ["an unknown pseudo-header", [":who", "me"], {}, "reset: badRequest"],
  ["a missing method", [], { ":method": "gone" }, "reset: badRequest"],
  ["a missing path", [], { ":path": "gone" }, "reset: badRequest"],
  ["a missing scheme", [], { ":scheme": "gone" }, "reset: badRequest"],
  ["an empty path", [], { ":path": "" }, "reset: badRequest"],
  ["a path with a line end", [], { ":path": "/\r\n" }, "reset: badRequest"],
  ["two Host headers", ["host", "a", "host", "a"], { ":authority": "gone" }, "badRequest"],
  ["a Host header that differs from the authority", ["host", "b"], {}, "badRequest"],
  ["a missing host", [], { ":authority": "gone" }, "badRequest"],
  ["CONNECT", [], { ":method": "CONNECT" }, "badRequest"],
  ["a method with a space", [], { ":method": "GET /" }, "badRequest"],
  ["a scheme other than http and https", [], { ":scheme": "ftp" }, "badRequest"],
  ["a path in absolute form", [], { ":path": "http://b/" }, "badRequest"],
  ["a path with a space", [], { ":path": "/ b" }, "badRequest"],
  ["a path with a fragment", [], { ":path": "/#b" }, "badRequest"],
  ["a user in the authority", [], { ":authority": "me@a" }, "badRequest"],
  ["a path above the limit", [], { ":path": `/${"a".repeat(8192)}` }, "targetTooLong"],
  ["a header above the limit", ["a", "b".repeat(32_768)], {}, "headTooLarge"],
  ["a header far above the limit", ["a", "b".repeat(131_072)], {}, "reset: headTooLarge"],
  ["more headers than the limit", many, {}, "headTooLarge"],
  ["an unknown expectation", ["expect", "more"], {}, "unknownExpectation"],
];
for (const [says, fields, changes, fault] of faulty) {
  test(`a request with ${says} is refused: ${fault}`, () => assert.equal(faultOf(fields, changes), fault));
}
