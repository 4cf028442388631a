import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientBody } from "../client/client-body.ts";
import { defaultHeadLimits } from "../http1/parse/head-parser.ts";
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

function headOf(fields: readonly string[], changes: Pseudo = {}, hasBody = false): StreamHead {
  const first = Object.entries({ ...pseudo, ...changes }).filter(([, value]) => value !== "gone");
  const body = hasBody ? (declared: number | null) => new ClientBody(declared, () => {}) : null;
  return new StreamHead([...first.flat(), ...fields], { peer, limits: defaultHeadLimits, body });
}

test("a head lists Host first and a single Cookie header, and takes method and target from pseudo-headers", () => {
  const head = headOf(["cookie", "a=1", "x-a", "b", "cookie", "c=2"]);
  assert.deepEqual(head.rawHeaders, ["host", "a.example", "cookie", "a=1; c=2", "x-a", "b"]);
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

test("a request has a body if its stream is still open, and the body's length is the one in Content-Length", () => {
  assert.equal(headOf(["content-length", "0"]).body, null);
  assert.equal(headOf(["content-length", "7"], {}, true).body?.length, 7);
  assert.equal(headOf([], {}, true).body?.length, null);
});

const many = Array.from({ length: 101 }, (_, index) => [`x-${index}`, "a"]).flat();
const faulty: readonly (readonly [says: string, fields: readonly string[], changes: Pseudo, fault: string])[] = [
  ["a hop-by-hop header", ["connection", "close"], {}, "badRequest"],
  ["a transfer coding", ["transfer-encoding", "chunked"], {}, "badRequest"],
  ["TE other than trailers", ["te", "gzip"], {}, "badRequest"],
  ["a name in upper case", ["X-A", "b"], {}, "badRequest"],
  ["a line end in a value", ["a", "b\r\nc: d"], {}, "badRequest"],
  ["a space around a value", ["a", " b"], {}, "badRequest"],
  ["two Host headers", ["host", "a", "host", "a"], { ":authority": "gone" }, "badRequest"],
  ["a Host header that differs from the authority", ["host", "b"], {}, "badRequest"],
  ["a missing host", [], { ":authority": "gone" }, "badRequest"],
  ["a missing method", [], { ":method": "gone" }, "badRequest"],
  ["CONNECT", [], { ":method": "CONNECT" }, "badRequest"],
  ["a method with a space", [], { ":method": "GET /" }, "badRequest"],
  ["a scheme other than http and https", [], { ":scheme": "ftp" }, "badRequest"],
  ["a path in absolute form", [], { ":path": "http://b/" }, "badRequest"],
  ["a path with a line end", [], { ":path": "/\r\n" }, "badRequest"],
  ["a path with a space", [], { ":path": "/ b" }, "badRequest"],
  ["a path with a fragment", [], { ":path": "/#b" }, "badRequest"],
  ["a user in the authority", [], { ":authority": "me@a" }, "badRequest"],
  ["a length with a sign", ["content-length", "+1"], {}, "badRequest"],
  ["a path above the limit", [], { ":path": `/${"a".repeat(8192)}` }, "targetTooLong"],
  ["a header above the limit", ["a", "b".repeat(32_768)], {}, "headTooLarge"],
  ["more headers than the limit", many, {}, "headTooLarge"],
];
for (const [says, fields, changes, fault] of faulty) {
  test(`a request with ${says} is refused: ${fault}`, () => assert.equal(headOf(fields, changes).fault, fault));
}
