import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import fc from "fast-check";
import { ByteView } from "./byte-view.ts";
import { MIN_SLAB_BYTES, SLAB_SIZE, type Slab, TLS_SLAB_SIZE, takeSlab } from "./slab.ts";
import { WriteQueue } from "./write-queue.ts";

/** More slabs than the pool keeps. */
const MANY = 40;

test("two slabs in use never share memory, however slabs are held and released", () => {
  const step = fc.record({ what: fc.constantFrom("take", "hold", "let go", "too often"), which: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const held: { readonly slab: Slab; holders: number }[] = [];
      const over: Slab[] = [];
      for (const { what, which } of steps) {
        const entry = held[which % Math.max(held.length, 1)];
        if (what === "take" || entry === undefined) held.push({ slab: takeSlab(), holders: 1 });
        else if (what === "hold") {
          entry.slab.hold();
          entry.holders++;
        } else if (what === "let go") {
          entry.slab.release();
          if (--entry.holders > 0) continue;
          held.splice(held.indexOf(entry), 1);
          over.push(entry.slab);
        } else for (const slab of over) assert.throws(slab.release);
        assert.equal(new Set(held.map(({ slab }) => slab.bytes)).size, held.length);
      }
      for (const { slab, holders } of held) for (let left = holders; left > 0; left--) slab.release();
      const all = Array.from({ length: MANY }, () => takeSlab());
      assert.equal(new Set(all.map(({ bytes }) => bytes)).size, MANY);
      for (const slab of all) slab.release();
    }),
    { numRuns: 300 },
  );
});

const server = createServer({ allowHalfOpen: true }, (socket) => socket.on("error", () => {}));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
after(() => new Promise((resolve) => server.close(resolve)));

test("a socket releases each slab once, even when it is destroyed in the middle of a transfer", async () => {
  const piece = fc.record({
    size: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: MIN_SLAB_BYTES, max: 131_072 })),
    isTls: fc.boolean(),
    flushes: fc.boolean(),
    text: fc.boolean(),
  });
  const plan = fc.record({
    pieces: fc.array(piece, { minLength: 1, maxLength: 60 }),
    // A client that does not read makes pieces queue in the socket.
    reads: fc.boolean(),
    end: fc.constantFrom("ends", "is destroyed", "is destroyed by the other side"),
    at: fc.nat(60),
    waits: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(plan, async ({ pieces, reads, end, at, waits }) => {
      const accepting = once(server, "connection");
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
      const closed = new Promise((resolve) => socket.once("close", resolve));
      const [other]: Socket[] = await accepting;
      await (socket.connecting ? once(socket, "connect") : null);
      if (reads) other?.resume();
      const outbox = new WriteQueue(socket);
      const slabs: Slab[] = [];
      for (const [index, { size, isTls, flushes, text }] of pieces.entries()) {
        if (index === at && end === "is destroyed") socket.destroy();
        if (index === at && end === "is destroyed by the other side") other?.resetAndDestroy();
        if (text) outbox.text("some text");
        const slab = takeSlab(isTls ? TLS_SLAB_SIZE : SLAB_SIZE);
        slabs.push(slab);
        outbox.bytes(new ByteView(slab.bytes, 0, Math.min(size, slab.bytes.length), slab));
        slab.release();
        if (flushes) outbox.flush();
        if (waits) await new Promise(setImmediate);
      }
      outbox.flush();
      other?.resume().on("end", () => other.end());
      if (end === "ends") socket.end();
      else socket.destroy();
      socket.resume();
      await closed;
      other?.destroy();
      // Events that follow "close" have fired after this.
      await new Promise(setImmediate);
      await new Promise(setImmediate);
      for (const slab of slabs) assert.throws(slab.release, /after its last release/, "the slab is still held");
    }),
    { numRuns: 150 },
  );
});
