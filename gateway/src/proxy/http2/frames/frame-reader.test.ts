import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { frameBytes } from "../../../../../test/conformance/engine/http2-frames.ts";
import { randomCases } from "../../../../../tools/stages/random-cases.ts";
import { ByteView } from "../../sockets/byte-view.ts";
import { FrameReader, type FrameReceiver } from "./frame-reader.ts";
import { errorCode, frameType, MAX_FRAME, PADDED, PREFACE } from "./frame-types.ts";

/** What a reader passes on, as text; the content of a DATA frame is joined. */
function eventsOf(pieces: readonly Buffer[]): readonly string[] {
  const events: string[] = [];
  let content = "";
  const receiver: FrameReceiver = {
    frame({ type, flags, stream }, bytes, { start, end }) {
      events.push(`${type} ${flags} ${stream} ${bytes.toString("hex", start, end)}`);
    },
    dataBegan({ flags, stream, length }) {
      content = `data ${flags} ${stream} ${length} `;
    },
    data(view) {
      content += view.keep().toString("hex");
    },
    dataEnded: () => void events.push(content),
    broken: (code) => void events.push(`broken ${code}`),
  };
  const reader = new FrameReader(receiver, { hasPreface: true });
  for (const piece of pieces) reader.read(ByteView.of(piece));
  return events;
}

const data = (flags: number, payload: Buffer) => frameBytes(frameType.data, flags, 1, payload);
const { frameSizeError, protocolError } = errorCode;

const table: readonly (readonly [says: string, sent: Buffer, events: readonly string[]])[] = [
  ["an empty frame", frameBytes(frameType.settings, 1, 0), ["4 1 0 "]],
  ["a frame with a reserved bit in its stream", Buffer.from("000000040180000000", "hex"), ["4 1 0 "]],
  ["DATA without content", data(1, Buffer.alloc(0)), ["data 1 1 0 "]],
  ["DATA with padding", data(PADDED, Buffer.from("02aabbcccc", "hex")), ["data 8 1 5 aabb"]],
  ["DATA that is only padding", data(PADDED, Buffer.from("02cccc", "hex")), ["data 8 1 3 "]],
  ["DATA without room for the length of its padding", data(PADDED, Buffer.alloc(0)), [`broken ${frameSizeError}`]],
  ["DATA with more padding than payload", data(PADDED, Buffer.from("03cccc", "hex")), [`broken ${protocolError}`]],
  ["a frame of the largest size", frameBytes(99, 0, 0, Buffer.alloc(MAX_FRAME)), [`99 0 0 ${"00".repeat(MAX_FRAME)}`]],
  ["a larger frame", frameBytes(99, 0, 0, Buffer.alloc(MAX_FRAME + 1)), [`broken ${frameSizeError}`]],
];
for (const [says, sent, events] of table) {
  test(`the reader of frames receives ${says}`, () => {
    const bytes = Buffer.concat([PREFACE, sent]);
    assert.deepEqual(eventsOf([bytes]), events);
    // The last byte may have decided: nothing is passed on twice.
    assert.deepEqual(eventsOf([...bytes].map((byte) => Buffer.from([byte]))), events);
  });
}

test("an invalid preface ends the input at its first wrong byte", () => {
  assert.deepEqual(eventsOf([Buffer.from("PRI * HTTP/1.1\r\n\r\n")]), [`broken ${protocolError}`]);
  assert.deepEqual(eventsOf([PREFACE.subarray(0, 23)]), []);
});

test("random frames are read alike, however they are split", () => {
  const frame = fc.tuple(
    fc.constantFrom(0, 0, 1, 4, 9, 77),
    fc.constantFrom(0, 1, PADDED),
    fc.uint8Array({ maxLength: 60 }),
  );
  const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 12 }), cuts, (frames, sizes) => {
      const bytes = Buffer.concat([
        PREFACE,
        ...frames.map(([type, flags, payload]) => frameBytes(type, flags, 3, Buffer.from(payload))),
      ]);
      const pieces: Buffer[] = [];
      for (let at = 0, count = 0; at < bytes.length; count++) {
        const size = sizes[count % sizes.length] ?? 1;
        pieces.push(bytes.subarray(at, at + size));
        at += size;
      }
      assert.deepEqual(eventsOf(pieces), eventsOf([bytes]));
    }),
    { numRuns: randomCases(500) },
  );
});
