import assert from "node:assert/strict";
import { test } from "node:test";
import { ReadBuffer } from "./read-buffer.ts";
import { sharedSlab, slabOf, takeSlab, WORTHWHILE } from "./slab.ts";

test("frees what Node has read when the last one lets go", () => {
  const chunk = Buffer.allocUnsafeSlow(65_536);
  const slab = slabOf(chunk.subarray(0, 60_000));
  slab?.hold();
  slab?.release();
  assert.equal(chunk.buffer.byteLength, 65_536);
  slab?.release();
  assert.equal(chunk.buffer.byteLength, 0);
});

test("leaves alone what is small, or lies in memory of others", () => {
  const mine = Buffer.allocUnsafeSlow(65_536);
  const pooled = Buffer.from("x".repeat(Buffer.poolSize / 2 - 1));
  const chunks = [mine.subarray(0, 1000), mine.subarray(1), mine.subarray(0, 32_000), pooled];
  assert.deepEqual(chunks.map(slabOf), [null, null, null, null]);
});

test("gives memory to the next one who wants some, and not while somebody holds it", () => {
  const slab = takeSlab();
  slab.hold();
  slab.release();
  assert.notEqual(takeSlab().bytes, slab.bytes);
  slab.release();
  assert.equal(takeSlab().bytes, slab.bytes);
});

test("lets nobody hold or let go of what is over, whoever has its memory now", () => {
  const slab = takeSlab();
  slab.release();
  assert.throws(slab.release, /over/);
  assert.throws(() => slab.hold(), /over/);
  const next = takeSlab();
  assert.equal(next.bytes, slab.bytes);
  assert.throws(slab.release, /over/);
  assert.notEqual(takeSlab().bytes, next.bytes);
  next.release();
});

test("never gives away what all read into", () => {
  for (let time = 0; time < 3; time++) sharedSlab.release();
  assert.notEqual(takeSlab().bytes, sharedSlab.bytes);
  assert.ok(sharedSlab.bytes.length > 0);
});

/** Node's part: asks for a buffer first, and again after every read. */
function reading(inlet: ReadBuffer): (size: number) => Uint8Array {
  const { buffer, callback } = inlet.onread;
  const next = () => (buffer instanceof Uint8Array ? buffer : buffer());
  let current = next();
  return (size) => {
    callback(size, current);
    current = next();
    return current;
  };
}

test("reads where all read unless much is to come, and never into what somebody still holds", () => {
  const inlet = new ReadBuffer();
  const read = reading(inlet);
  let held = takeSlab();
  inlet.read = (slab) => {
    held = slab;
  };
  assert.equal(read(100), sharedSlab.bytes);
  inlet.isLong = true;
  const own = read(WORTHWHILE);
  assert.notEqual(own, sharedSlab.bytes);
  assert.equal(read(WORTHWHILE), own);
  held.hold();
  assert.equal(held.bytes, own);
  const second = read(WORTHWHILE);
  assert.notEqual(second, own);
  inlet.isLong = false;
  assert.equal(read(100), sharedSlab.bytes);
  assert.equal(takeSlab().bytes, second, "what nobody holds is free again");
});
