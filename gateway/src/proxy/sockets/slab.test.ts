import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteView } from "./byte-view.ts";
import { ReadBuffer } from "./read-buffer.ts";
import { MIN_SLAB_BYTES, pooledBytes, SLAB_SIZE, type Slab, sharedSlab, TLS_SLAB_SIZE, takeSlab } from "./slab.ts";

test("takeSlab gives released memory to the next caller, and never memory that is held", () => {
  const slab = takeSlab();
  slab.hold();
  slab.release();
  assert.notEqual(takeSlab().bytes, slab.bytes);
  slab.release();
  assert.equal(takeSlab().bytes, slab.bytes);
});

test("a released slab can be neither held nor released again, even if another slab has its memory now", () => {
  const slab = takeSlab();
  slab.release();
  assert.throws(slab.release, /after its last release/);
  assert.throws(() => slab.hold(), /after its last release/);
  const next = takeSlab();
  assert.equal(next.bytes, slab.bytes);
  assert.throws(slab.release, /after its last release/);
  assert.notEqual(takeSlab().bytes, next.bytes);
  next.release();
});

test("takeSlab never returns the shared slab", () => {
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

test("a read buffer reads into the shared slab unless much data is expected, and never into held memory", () => {
  const inlet = new ReadBuffer({ isTls: false });
  const read = reading(inlet);
  let view = ByteView.of(Buffer.alloc(0));
  inlet.read = (received) => {
    view = received;
  };
  assert.equal(read(100), sharedSlab.bytes);
  inlet.isLong = true;
  const own = read(MIN_SLAB_BYTES);
  assert.notEqual(own, sharedSlab.bytes);
  assert.equal(read(MIN_SLAB_BYTES), own);
  view.hold();
  assert.equal(view.bytes, own);
  const second = read(MIN_SLAB_BYTES);
  assert.notEqual(second, own);
  inlet.isLong = false;
  assert.equal(read(100), sharedSlab.bytes);
  assert.equal(takeSlab().bytes, second, "memory without a holder is free again");
});

test("the pool keeps a bounded amount of free memory of either size", () => {
  for (const size of [SLAB_SIZE, TLS_SLAB_SIZE]) {
    const many: Slab[] = Array.from({ length: 1000 }, () => takeSlab(size));
    for (const slab of many) slab.release();
    assert.equal(new Set(many.map(({ bytes }) => bytes)).size, 1000);
  }
  assert.equal(pooledBytes(), 2 * 4_194_304);
});
