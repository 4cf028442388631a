import assert from "node:assert/strict";
import { test } from "node:test";
import { CHUNK_DATA, CHUNK_END, CHUNK_MORE, ChunkedScanner } from "./chunked.ts";
import { fault } from "./faults.ts";
import { DROP, fieldNameAt } from "./fields.ts";

/**
 * All results of the scanner for a piece: data as text, other results as numbers, and the final position unless there
 * is a fault.
 */
function results(scanner: ChunkedScanner, text: string): readonly (string | number)[] {
  const bytes = Buffer.from(text, "latin1");
  const all: (string | number)[] = [];
  for (let at = 0; ; ) {
    const result = scanner.next(bytes, at, bytes.length);
    if (result === CHUNK_DATA) all.push(bytes.toString("latin1", scanner.dataStart, scanner.dataEnd));
    else return [...all, result, ...(result < 0 ? [] : [scanner.position])];
    at = scanner.position;
  }
}

test("the scanner returns data as ranges of the piece, and the end of the body with the position after it", () => {
  const scanner = new ChunkedScanner();
  assert.deepEqual(results(scanner, "3;a=b\r\nab"), ["ab", CHUNK_MORE, 9]);
  assert.deepEqual(results(scanner, "c\r\n2\r\nde\r"), ["c", "de", CHUNK_MORE, 9]);
  assert.deepEqual(results(scanner, "\n0\r\n\r\nGET"), [CHUNK_END, 6]);
  assert.equal(scanner.trailers.count, 0);
});

test("an empty piece does not change the scanner's state", () => {
  const scanner = new ChunkedScanner();
  assert.deepEqual(results(scanner, ""), [CHUNK_MORE, 0]);
  assert.deepEqual(results(scanner, "1\r\n"), [CHUNK_MORE, 3]);
  assert.deepEqual(results(scanner, ""), [CHUNK_MORE, 0]);
  assert.deepEqual(results(scanner, "x"), ["x", CHUNK_MORE, 1]);
});

test("trailers are collected over several pieces, and forbidden ones are marked", () => {
  const scanner = new ChunkedScanner();
  const names = [
    ...["Grpc-Status", "Host", "Authorization", "Set-Cookie", "Content-Type", "TE", "Connection", "X-Forwarded-For"],
    ...["X_Forwarded_For", "X-Consumer-ID", "Cache-Control", "Server-Timing", "Digest", "apikey"],
  ];
  const text = `0\r\n${names.map((name) => `${name}: 1\r\n`).join("")}\r\nrest`;
  assert.deepEqual(results(scanner, text.slice(0, 9)), [CHUNK_MORE, 9]);
  assert.deepEqual(results(scanner, text.slice(9, 50)), [CHUNK_MORE, 41]);
  assert.deepEqual(results(scanner, text.slice(50)), [CHUNK_END, text.length - 50 - "rest".length]);
  const { trailers } = scanner;
  const passing = names.filter((_, index) => ((trailers.kinds[index] ?? 0) & DROP) === 0);
  assert.deepEqual(passing, ["Grpc-Status", "Server-Timing", "Digest"]);
  assert.deepEqual(
    names.map((_, index) => fieldNameAt(trailers, index)),
    names,
  );
});

test("a scanner can be reused for many bodies, also after an error and an incomplete body", () => {
  const scanner = new ChunkedScanner();
  for (const before of ["0\r\nA: b\r\n\r\n", "5\r\nab", `1;${"a".repeat(100)}`, "0\r\nA: b", "x", "ff"]) {
    results(scanner, before);
    scanner.reset();
    assert.deepEqual(results(scanner, "1\r\nx\r\n0\r\n\r\n"), ["x", CHUNK_END, 11], before);
    assert.equal(scanner.trailers.count, 0);
    scanner.reset();
  }
});

test("the scanner applies the limits of extensions and trailers", () => {
  const limits = { extension: 4, extensions: 6, trailers: 12, trailerCount: 1 };
  const rows: readonly (readonly [text: string, last: number])[] = [
    ["1;abc\r\nx\r\n", CHUNK_MORE],
    ["1;abcd\r\nx\r\n", fault.chunkExtensionTooLong],
    ["1;ab\r\nx\r\n1;ab\r\n", CHUNK_MORE],
    ["1;ab\r\nx\r\n1;ab\r\nx\r\n1;a\r\n", fault.chunkExtensionTooLong],
    ["0\r\nA: 12345\r\n\r\n", CHUNK_END],
    ["0\r\nA: 123456\r\n\r\n", fault.fieldsTooLarge],
    ["0\r\nA:1\r\nB:2\r\n\r\n", fault.tooManyFields],
  ];
  for (const [text, last] of rows) {
    const numeric = results(new ChunkedScanner(limits), text).filter((result) => typeof result === "number");
    assert.equal(numeric[0], last, text);
  }
});
