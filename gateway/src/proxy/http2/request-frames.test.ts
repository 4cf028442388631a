import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { block, frameBytes, plainRequest } from "../../../../test/conformance/engine/http2-frames.ts";
import { defaultHeadLimits } from "../http1/parse/head-parser.ts";
import { ByteView } from "../sockets/byte-view.ts";
import { SendScheduler } from "./connection/send-scheduler.ts";
import { FrameOutput } from "./frames/frame-output.ts";
import { END_HEADERS, END_STREAM, frameType, PREFACE } from "./frames/frame-types.ts";
import { HpackEncoder } from "./hpack/encoder.ts";
import { RequestFrames } from "./request-frames.ts";
import { FieldCollector } from "./requests/field-collector.ts";

test("an incomplete head has the same number until it is complete, and the next one has another number", () => {
  const unexpected = () => assert.fail("called unexpectedly");
  const output = new FrameOutput({ writable: false, writableLength: 0 } as Socket, unexpected);
  const frames = new RequestFrames({
    owner: {
      open: () => null,
      malformed: unexpected,
      closed: unexpected,
      fail: unexpected,
      pinged: unexpected,
      settingsAcknowledged: unexpected,
      leaving: unexpected,
    },
    scheduler: new SendScheduler(output, new HpackEncoder()),
    collector: new FieldCollector(defaultHeadLimits),
    maxBlock: 1000,
  });
  const incompleteAfter = (...bytes: readonly Buffer[]): number => {
    frames.read(ByteView.of(Buffer.concat(bytes)));
    return frames.incomplete;
  };
  assert.equal(incompleteAfter(PREFACE, frameBytes(frameType.settings, 0, 0)), 0);
  const head = frameBytes(frameType.headers, END_STREAM, 1, block(plainRequest));
  const rest = frameBytes(frameType.continuation, END_HEADERS, 1, block([["a", "b"]]));
  const next = frameBytes(frameType.headers, END_STREAM | END_HEADERS, 3, block(plainRequest));
  const first = incompleteAfter(head.subarray(0, 12));
  assert.ok(first > 0);
  assert.equal(incompleteAfter(head.subarray(12)), first);
  assert.equal(incompleteAfter(rest.subarray(0, 12)), first);
  const second = incompleteAfter(rest.subarray(12), next.subarray(0, 12));
  assert.ok(second > first);
  assert.equal(incompleteAfter(next.subarray(12)), 0);
});
