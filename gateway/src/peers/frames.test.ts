import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { frameOf, PeerFrameReader } from "./frames.ts";

it("messages are read from pieces of any size", () => {
  const messages = fc.array(fc.dictionary(fc.string(), fc.string()), { maxLength: 5 });
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (sent, sizes) => {
      const bytes = Buffer.concat(sent.map(frameOf));
      const reader = new PeerFrameReader();
      const read: unknown[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        read.push(...reader.read(bytes.subarray(at, at + size)));
        at += size;
      }
      assert.deepEqual(
        read,
        sent.map((each) => JSON.parse(JSON.stringify(each))),
      );
    }),
  );
});
