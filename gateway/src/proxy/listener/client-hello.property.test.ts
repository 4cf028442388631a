import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ClientHelloReader } from "./client-hello.ts";

const u16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const extension = (type: number, content: Buffer) => Buffer.concat([u16(type), u16(content.length), content]);

function serverName(name: string): Buffer {
  const bytes = Buffer.from(name, "latin1");
  const entry = Buffer.concat([Buffer.from([0]), u16(bytes.length), bytes]);
  return extension(0, Buffer.concat([u16(entry.length), entry]));
}

const names = fc.option(fc.domain(), { nil: null });

/** The handshake message of a ClientHello (RFC 8446 section 4.1.2) with random contents. */
const messages = fc
  .record({
    name: names,
    random: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    session: fc.uint8Array({ maxLength: 32 }),
    ciphers: fc.uint8Array({ minLength: 2, maxLength: 60 }),
    // None of them contains server names (0) or protocols (16).
    others: fc.array(fc.tuple(fc.integer({ min: 17, max: 65_535 }), fc.uint8Array({ maxLength: 80 })), {
      maxLength: 5,
    }),
    place: fc.nat({ max: 5 }),
  })
  .map(({ name, random, session, ciphers, others, place }) => {
    const extensions: Buffer[] = others.map(([type, content]) => extension(type, Buffer.from(content)));
    if (name !== null) extensions.splice(place, 0, serverName(name));
    const all = Buffer.concat(extensions);
    const body = Buffer.concat([
      ...[Buffer.from([3, 3]), random, Buffer.from([session.length]), session],
      ...[u16(ciphers.length), ciphers, Buffer.from([1, 0]), u16(all.length), all],
    ]);
    return { name, message: Buffer.concat([Buffer.from([1, 0]), u16(body.length), body]) };
  });

/** The message in records of these sizes, which repeat. */
function inRecords(message: Buffer, sizes: readonly number[]): Buffer {
  const records: Buffer[] = [];
  for (let at = 0, next = 0; at < message.length; next++) {
    const piece = message.subarray(at, at + (sizes[next % sizes.length] ?? 1));
    records.push(Buffer.concat([Buffer.from([22, 3, 1]), u16(piece.length), piece]));
    at += piece.length;
  }
  return Buffer.concat(records);
}

/** Reads bytes that arrive in pieces. Returns the result, and how many bytes had arrived. */
function readInPieces(bytes: Buffer, cuts: readonly number[]) {
  const reader = new ClientHelloReader();
  const ends = [...new Set([...cuts.map((cut) => cut % bytes.length), bytes.length])].sort((one, two) => one - two);
  for (const end of ends) {
    const hello = reader.read(bytes.subarray(0, end));
    if (hello !== null) return { hello, end };
  }
  return { hello: null, end: bytes.length };
}

const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 6 });
const cuts = fc.array(fc.nat({ max: 5000 }), { maxLength: 12 });

test("the server name of a ClientHello is read whatever its records and the pieces in which they arrive", () =>
  fc.assert(
    fc.property(messages, sizes, cuts, fc.uint8Array({ maxLength: 50 }), ({ name, message }, records, at, more) => {
      const bytes = inRecords(message, records);
      assert.deepEqual(readInPieces(bytes, at).hello, { serverName: name, protocols: [] });
      // Bytes after the message do not change the result.
      assert.deepEqual(readInPieces(Buffer.concat([bytes, more]), at).hello, { serverName: name, protocols: [] });
      assert.equal(readInPieces(bytes.subarray(0, -1), at).hello, null);
    }),
  ));

test("no bytes make the reader of ClientHellos fail, and its result does not depend on the pieces that arrive", () =>
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 300 }),
        fc
          .tuple(messages, sizes, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 6 }))
          .map(([{ message }, records, changes]) => {
            const bytes = inRecords(message, records);
            for (const [at, value] of changes) bytes[at % bytes.length] = value;
            return bytes;
          }),
      ),
      cuts,
      (given, at) => {
        const bytes = Buffer.from(given);
        assert.deepEqual(readInPieces(bytes, at).hello, new ClientHelloReader().read(bytes));
      },
    ),
  ));
