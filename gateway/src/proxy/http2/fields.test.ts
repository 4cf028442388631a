import assert from "node:assert/strict";
import { test } from "node:test";
import { encodePassed } from "./connection/message-writer.ts";
import { fieldsOf } from "./fields.ts";
import { HpackEncoder } from "./hpack/encoder.ts";

test("trailers that affect framing, routing or identity are not encoded", () => {
  const flat = [
    ...["X-Sum", "1", "x-sum", "2", "Host", "b", ":path", "/"],
    ...["content_length", "3", "Transfer-Encoding", "chunked", "x-consumer-id", "me"],
  ];
  const encoder = new HpackEncoder();
  encoder.begin();
  encodePassed(encoder, flat);
  assert.equal(encoder.textSize, "x-sum: 1\r\nx-sum: 2\r\n".length);
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
