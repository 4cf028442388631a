/**
 * Random interleavings of reads, stalls, aborts and reuse of memory, by connections whose bytes are distinguishable.
 */
import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { randomCases } from "../../../../tools/stages/random-cases.ts";
import type { ByteView, HeldBytes } from "./byte-view.ts";
import { ClientInput } from "./client-input.ts";
import { ReadBuffer } from "./read-buffer.ts";

/**
 * A peer that accepts bytes only when `accept` is called, and then checks that they equal the bytes that were sent to
 * it.
 */
class SlowPeer extends Writable {
  /** Copies of the pieces that are on their way. */
  readonly #expected: Buffer[] = [];
  #waiting: (() => void) | null = null;

  constructor() {
    super({ highWaterMark: 1 });
    this.on("error", () => {});
  }

  send({ held, copy }: Sent): void {
    this.#expected.push(copy);
    held.writeTo(this);
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#waiting = () => {
      assert.ok(this.#expected.shift()?.equals(chunk), "a peer received different bytes than were sent to it");
      done();
    };
  }

  accept(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.();
  }
}

interface Sent {
  readonly held: HeldBytes;
  readonly copy: Buffer;
}

/** Number of byte values with which a connection fills its successive reads. */
const READS = 40;

/** Bytes that must stay as they are, and a copy of them. */
interface Kept {
  readonly piece: Buffer;
  readonly copy: Buffer;
}

const uses = ["write", "hold", "keep", "drop"] as const;
/** What happens to a view: it is written to the peer, now or later, kept by a plugin, or ignored. */
type Use = (typeof uses)[number];

/** One client connection: the bytes that it reads go to its own slow peer, to a plugin that keeps them, or nowhere. */
class Connection {
  /** The first byte value of this connection. */
  readonly #base: number;
  #reads = 0;
  readonly #inlet: ReadBuffer;
  readonly #input = new ClientInput();
  #room: Uint8Array;
  #peer: SlowPeer;
  #held: Sent[] = [];
  #kept: Kept[] = [];
  /** The consumed head of a request, which stays valid until the next head. */
  #head: Kept | null = null;

  constructor(number: number, isTls: boolean) {
    this.#base = number * READS;
    this.#inlet = new ReadBuffer({ isTls });
    this.#room = this.#inlet.first;
    this.#peer = new SlowPeer();
  }

  /**
   * Node's part: writes into the buffer, reports the size, and asks for the next buffer. The bytes wait in the input, as
   * those of clients do, or are used at once, as those of upstreams are.
   */
  read(size: number, isLong: boolean, use: Use | "wait"): void {
    this.#inlet.read = (view) => (use === "wait" ? this.#input.add(view) : this.#use(view, use));
    const { buffer, callback } = this.#inlet.onread;
    const read = Math.min(size, this.#room.length);
    this.#room.fill(this.#base + (this.#reads++ % READS), 0, read);
    this.#inlet.isLong = isLong;
    callback(read, this.#room);
    this.#room = buffer instanceof Uint8Array ? buffer : buffer();
  }

  consume(share: number, use: Use): void {
    const size = Math.ceil(this.#input.length * share);
    if (size > 0) this.#input.pass({ write: (view) => this.#use(view, use) }, 0, size);
  }

  #use(view: ByteView, use: Use): void {
    if (view.length === 0) return;
    const copy = Buffer.from(view.bytes.subarray(view.start, view.end));
    assert.ok(this.#owns(copy), "a view shows the bytes of another connection");
    if (use === "write") this.#peer.send({ held: view.hold(), copy });
    else if (use === "hold") this.#held.push({ held: view.hold(), copy });
    else if (use === "keep") this.#kept.push({ piece: view.keep(), copy });
  }

  head(size: number): void {
    this.#input.releaseHead();
    this.#head = null;
    const used = Math.min(size, this.#input.length);
    if (used === 0) return;
    const piece = this.#input.bytes.subarray(0, used);
    this.#head = { piece, copy: Buffer.from(piece) };
    this.#input.skipHead(used);
  }

  flush(): void {
    for (const sent of this.#held) this.#peer.send(sent);
    this.#held = [];
  }

  accept(): void {
    this.#peer.accept();
  }

  /** The peer disconnects before all bytes are written to it; the next exchange has a new peer. */
  abort(): void {
    this.#peer.destroy();
    this.#held = [];
    this.#peer = new SlowPeer();
  }

  #owns(bytes: Buffer): boolean {
    const { length } = bytes;
    // Every read fills its memory with a single byte value, so that a few bytes represent it.
    return [0, length >> 2, length >> 1, length - 1].every((at) => {
      const byte = bytes[at] ?? this.#base;
      return byte >= this.#base && byte < this.#base + READS;
    });
  }

  check(): void {
    for (const { piece, copy } of this.#kept) assert.ok(piece.equals(copy), "kept bytes have changed");
    if (this.#head) assert.ok(this.#head.piece.equals(this.#head.copy), "the head of a request has changed");
    assert.ok(this.#owns(this.#input.bytes), "unconsumed bytes have changed");
  }
}

test("no connection ever gets the bytes of another connection, however reads, stalls and aborts interleave", async () => {
  const connection = fc.nat(5);
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        what: fc.constant("read" as const),
        connection,
        size: fc.nat(131_072),
        isLong: fc.boolean(),
        use: fc.oneof(fc.constant("wait" as const), fc.constantFrom(...uses)),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        what: fc.constant("consume" as const),
        connection,
        // Memory is released, and used again, only once all of its bytes have been consumed.
        share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
        use: fc.constantFrom(...uses),
      }),
    },
    fc.record({ what: fc.constant("head" as const), connection, size: fc.integer({ min: 1, max: 2000 }) }),
    fc.record({
      what: fc.constantFrom("flush" as const, "accept" as const, "abort" as const, "turn" as const),
      connection,
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 50, maxLength: 150, size: "max" }), async (steps) => {
      const connections = Array.from({ length: 6 }, (_, at) => new Connection(at, at % 2 === 1));
      for (const each of steps) {
        const chosen = connections[each.connection];
        assert.ok(chosen);
        if (each.what === "read") chosen.read(each.size, each.isLong, each.use);
        else if (each.what === "consume") chosen.consume(each.share, each.use);
        else if (each.what === "head") chosen.head(each.size);
        else if (each.what === "turn") await new Promise(setImmediate);
        else chosen[each.what]();
        for (const other of connections) other.check();
      }
      // Every peer drains: a slab that was released too early would show other bytes by now.
      for (let turn = 0; turn < 20; turn++) {
        for (const each of connections) {
          each.flush();
          each.accept();
        }
        await new Promise(setImmediate);
      }
    }),
    { numRuns: randomCases(80), endOnFailure: true },
  );
});
