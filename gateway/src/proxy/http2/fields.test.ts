import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, linesOf, passedTrailers, responseFields } from "./fields.ts";

test("the header names of a response are written in lower case, and hop-by-hop headers are dropped", () => {
  const headers = [
    "Content-Type",
    "text/plain",
    "Connection",
    "close",
    "Upgrade",
    "h2c",
    "Set-Cookie",
    "a",
    "Set-Cookie",
    "b",
  ];
  assert.deepEqual(responseFields(200, headers), [
    ...[":status", "200", "content-type", "text/plain"],
    ...["set-cookie", "a", "set-cookie", "b"],
  ]);
});

test("trailers that affect framing, routing or identity are dropped", () => {
  const flat = [
    "X-Sum",
    "1",
    "x-sum",
    "2",
    "Host",
    "b",
    "content_length",
    "3",
    "Transfer-Encoding",
    "chunked",
    "x-consumer-id",
    "me",
  ];
  assert.deepEqual({ ...passedTrailers(flat) }, { "x-sum": ["1", "2"] });
});

test("trailers are converted to HTTP/1.1 lines, and back", () => {
  const trailers = passedTrailers(["grpc-status", "0", "x-a", "b: c", "x-a", ""]);
  const lines = "grpc-status: 0\r\nx-a: b: c\r\nx-a: \r\n";
  assert.equal(linesOf(trailers), lines);
  assert.deepEqual(fieldsOf(lines), ["grpc-status", "0", "x-a", "b: c", "x-a", ""]);
  assert.deepEqual(fieldsOf(""), []);
});
