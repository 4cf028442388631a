import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, passedTrailers } from "./fields.ts";

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

test("trailers in HTTP/1.1 lines become a list", () => {
  assert.deepEqual(fieldsOf("grpc-status: 0\r\nx-a: b: c\r\nx-a: \r\n"), [
    "grpc-status",
    "0",
    "x-a",
    "b: c",
    "x-a",
    "",
  ]);
  assert.deepEqual(fieldsOf(""), []);
});
