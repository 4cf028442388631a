/** Scripted HTTP/2 upstreams that violate the protocol, and what the client and the log get. */
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { dial, sendRequest } from "./client.ts";
import { block, frame, frameBytes, frameFlags } from "./http2-frames.ts";
import { scripted } from "./http2-scripts.ts";
import type { Engine } from "./proxy-rig.ts";

const PUSH_PROMISE = 5;
const PRIORITY_UPDATE = 16;
const HTTP_1_1_REQUIRED = 13;
const { endHeaders } = frameFlags;
const {
  settings,
  head,
  data,
  reset,
  goAway,
  word,
  ok,
  replying,
  startScripted,
  INITIAL_WINDOW,
  REFUSED_STREAM,
  CANCEL,
} = scripted;

const times = (count: number, piece: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => piece));

/** What the upstream sends after the request, on stream 1; the status for the client, and what the log says. */
const faults: readonly (readonly [says: string, sent: readonly Buffer[], reason: RegExp])[] = [
  ["a head without a status", [head(1, [["a", "b"]])], /it has no status/],
  ["a status of two digits", [head(1, [[":status", "20"]])], /its status is invalid/],
  ["two statuses", [head(1, [...ok, ...ok])], /unexpected pseudo-header/],
  ["a pseudo-header field of requests", [head(1, [...ok, [":path", "/"]])], /unexpected pseudo-header/],
  ["a status after another field", [head(1, [["a", "b"], ...ok])], /unexpected pseudo-header/],
  ["the status 101", [head(1, [[":status", "101"]])], /the status 101 is not permitted/],
  ["an interim response that ends the stream", [head(1, [[":status", "103"]], 5)], /the status 103 is not permitted/],
  ["a name in upper case", [head(1, [...ok, ["A", "b"]])], /an invalid name or value/],
  ["a line end in a value", [head(1, [...ok, ["a", "b\r\nc: d"]])], /an invalid name or value/],
  ["a transfer coding", [head(1, [...ok, ["transfer-encoding", "chunked"]])], /the field transfer-encoding/],
  ["an invalid length", [head(1, [...ok, ["content-length", "1x"]])], /its Content-Length is invalid/],
  ["a length without a body", [head(1, [...ok, ["content-length", "1"]], 5)], /shorter than its Content-Length/],
  ["too many fields", [head(1, [...ok, ...Array.from({ length: 101 }, () => ["a", "b"] as const)])], /100 fields/],
  ["a body before its head", [data(1, "x")], /its body precedes its head/],
  ["an end before its head", [data(1, "")], /its end precedes its head/],
  [
    "a head on a stream that depends on itself",
    [frameBytes(frame.headers, 0x24, 1, Buffer.concat([word(1), Buffer.from([0]), block(ok)]))],
    /its priority is malformed/,
  ],
  [
    "a head that ends in the middle of a field",
    [frameBytes(frame.headers, endHeaders, 1, Buffer.from([0, 5]))],
    /COMPRESSION_ERROR.*invalid header block/,
  ],
  ["a head on a stream that was not opened", [head(3, ok)], /PROTOCOL_ERROR/],
  ["a head on an even stream", [head(2, ok)], /PROTOCOL_ERROR/],
  ["data on a stream that was not opened", [data(3, "x")], /PROTOCOL_ERROR/],
  ["a reset of a stream that was not opened", [reset(3, CANCEL)], /PROTOCOL_ERROR/],
  ["another frame within a head", [head(1, ok, 0), frameBytes(frame.ping, 0, 0, Buffer.alloc(8))], /PROTOCOL_ERROR/],
  [
    "a pushed response",
    [frameBytes(PUSH_PROMISE, endHeaders, 1, Buffer.concat([word(2), block([])]))],
    /PROTOCOL_ERROR/,
  ],
  ["a setting that enables push", [settings([2, 1])], /PROTOCOL_ERROR/],
  ["a priority of a client", [frameBytes(PRIORITY_UPDATE, 0, 0, word(1))], /PROTOCOL_ERROR/],
  ["a frame above the maximum size", [frameBytes(99, 0, 0, Buffer.alloc(16_385))], /FRAME_SIZE_ERROR/],
  [
    "a stream's window above the maximum",
    [times(2, frameBytes(frame.windowUpdate, 0, 1, word(0x7fffffff)))],
    /FLOW_CONTROL_ERROR/,
  ],
  [
    "a connection's window above the maximum",
    [times(2, frameBytes(frame.windowUpdate, 0, 0, word(0x7fffffff)))],
    /FLOW_CONTROL_ERROR/,
  ],
  ["an empty widening of the connection's window", [frameBytes(frame.windowUpdate, 0, 0, word(0))], /PROTOCOL_ERROR/],
  ["the reset REFUSED_STREAM", [reset(1, REFUSED_STREAM)], /ended the stream: REFUSED_STREAM/],
  ["the reset HTTP_1_1_REQUIRED", [reset(1, HTTP_1_1_REQUIRED)], /ended the stream: HTTP_1_1_REQUIRED/],
  ["the reset CANCEL", [reset(1, CANCEL)], /the upstream closed the connection/],
  ["GOAWAY for the request's stream", [goAway(0, 11)], /did not process the request: ENHANCE_YOUR_CALM/],
  [
    "a flood of PING frames",
    [times(5000, frameBytes(frame.ping, 0, 0, Buffer.alloc(8)))],
    /ENHANCE_YOUR_CALM.*too many frames/,
  ],
  ["a flood of settings", [times(5000, settings())], /ENHANCE_YOUR_CALM/],
  [
    "a frame with 33 settings",
    [settings(...Array.from({ length: 33 }, () => [INITIAL_WINDOW, 1] as const))],
    /ENHANCE_YOUR_CALM/,
  ],
  ["a flood of windows", [times(5000, frameBytes(frame.windowUpdate, 0, 0, word(1)))], /ENHANCE_YOUR_CALM/],
  ["a flood of unknown frames", [times(5000, frameBytes(99, 0, 0))], /ENHANCE_YOUR_CALM/],
  ["a flood of resets of closed streams", [times(5000, reset(1, CANCEL))], /the upstream closed the connection/],
  [
    "a flood of empty continuations",
    [head(1, ok, 0), times(5000, frameBytes(frame.continuation, 0, 1))],
    /ENHANCE_YOUR_CALM/,
  ],
  [
    "a head in continuations of more than 128 KiB",
    [head(1, ok, 0), times(9, frameBytes(frame.continuation, 0, 1, Buffer.alloc(16_384)))],
    /ENHANCE_YOUR_CALM/,
  ],
];

/** What the upstream sends, and what of it reaches the client before its response breaks off. */
const breaks: readonly (readonly [says: string, sent: readonly Buffer[], body: string])[] = [
  ["a body above its length", [head(1, [...ok, ["content-length", "1"]]), data(1, "ab")], ""],
  ["a body below its length", [head(1, [...ok, ["content-length", "3"]]), data(1, "ab")], "ab"],
  ["trailers that do not end the stream", [head(1, ok), data(1, "ab", 0), head(1, [["a", "b"]])], "ab"],
  ["a status in trailers", [head(1, ok), data(1, "ab", 0), head(1, ok, 5)], "ab"],
  ["a reset in its body", [head(1, ok), data(1, "ab", 0), reset(1, 2)], "ab"],
  ["a flood of empty data", [head(1, ok), data(1, "ab", 0), times(5000, data(1, "", 0))], "ab"],
];

export function http2UpstreamFaultSuite(engine: Engine): void {
  if (engine.name !== "http1") return;
  describe(`faults of HTTP/2 upstreams: the ${engine.name} engine`, { concurrency: true }, () => {
    for (const [says, sent, reason] of faults) {
      it(`answers 502, and logs why, when the upstream sends ${says}`, async (test) => {
        const rig = await startScripted(test, engine, replying(...sent));
        const { status } = await sendRequest(rig.port);
        assert.equal(status, 502);
        assert.match(JSON.stringify(rig.log), reason);
      });
    }

    for (const [says, sent, body] of breaks) {
      it(`breaks off the response when the upstream sends ${says}`, async (test) => {
        const rig = await startScripted(test, engine, replying(...sent));
        const received = await sendRequest(rig.port);
        assert.deepEqual([received.status, received.body, received.complete], [200, body, false]);
      });
    }

    for (const [method, status] of [
      ["GET", "204"],
      ["GET", "304"],
      ["HEAD", "200"],
    ] as const) {
      it(`closes the client's connection when the upstream sends a body with the status ${status} to ${method}`, async (test) => {
        const body = data(1, "HTTP/1.1 200 OK\r\n\r\n", 0);
        const rig = await startScripted(test, engine, replying(head(1, [[":status", status]]), body));
        const socket = await dial(test, rig.port);
        socket.write(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`);
        const received = await text(socket);
        assert.ok(received.startsWith(`HTTP/1.1 ${status} `), received);
        assert.equal(received.indexOf("\r\n\r\n"), received.length - 4);
      });
    }
  });
}
