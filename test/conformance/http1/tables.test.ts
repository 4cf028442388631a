/** The cases of Http11Probe and of llhttp's suite for strict parsers, as rows of our own. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ParserCase } from "./cases/case.ts";
import { chunks, extensions, trailers } from "./cases/chunks.ts";
import { codings, connections, contentLengths } from "./cases/framing.ts";
import { headerLines } from "./cases/header-lines.ts";
import { limits } from "./cases/limits.ts";
import { requestLines } from "./cases/request-lines.ts";
import { responseBodies, responseHeaderCases, statusLines } from "./cases/responses.ts";
import { targets } from "./cases/targets.ts";
import { readPieces } from "./differential.ts";
import { readOurs } from "./read-ours.ts";
import type { Direction, ParsedMessage, ParsedStream } from "./reading.ts";

type Table = readonly [subject: string, direction: Direction, rows: readonly ParserCase[]];

const tables: readonly Table[] = [
  ["request lines", "requests", requestLines],
  ["targets and hosts", "requests", targets],
  ["header lines", "requests", headerLines],
  ["lengths", "requests", contentLengths],
  ["transfer codings", "requests", codings],
  ["Connection headers", "requests", connections],
  ["chunks", "requests", chunks],
  ["chunk extensions", "requests", extensions],
  ["trailers", "requests", trailers],
  ["messages at the limits", "requests", limits],
  ["status lines", "responses", statusLines],
  ["bodies of responses", "responses", responseBodies],
  ["headers of responses", "responses", responseHeaderCases],
];

for (const [subject, direction, rows] of tables) {
  describe(`${subject}: the HTTP/1 parser`, () => {
    for (const { name, bytes, expect, asked } of rows) {
      const verb = expect === "more" ? "waits for more after" : typeof expect === "string" ? "refuses" : "reads";
      it(`${verb} ${name}`, () => {
        const reading = readOurs(bytes, { direction, asked });
        check(reading, expect);
        if (bytes.length > 2_000 || asked !== undefined) return;
        const whole = Buffer.from(bytes, "latin1");
        const one = Array.from(whole, (_, at) => at + 1);
        assert.deepEqual(readPieces(whole, one, direction), reading, "byte by byte");
        for (const at of one)
          assert.deepEqual(readPieces(whole, [at, whole.length], direction), reading, `cut at ${at}`);
      });
    }
  });
}

function check(reading: ParsedStream, expected: ParserCase["expect"]): void {
  if (expected === "more") assert.deepEqual([reading.ending, reading.fault], ["more", null]);
  else if (typeof expected === "string") assert.deepEqual([reading.ending, reading.fault], ["refused", expected]);
  else {
    const messages: readonly Partial<ParsedMessage>[] = Array.isArray(expected) ? expected : [expected];
    assert.equal(reading.fault, null);
    assert.notEqual(reading.ending, "more");
    assert.partialDeepStrictEqual(reading.messages, messages);
    assert.equal(reading.messages.length, messages.length);
  }
}

it("the tables have at least 250 rows and no duplicates", () => {
  const all = tables.flatMap(([, direction, rows]) => rows.map(({ bytes, asked }) => `${direction} ${asked} ${bytes}`));
  assert.ok(all.length >= 250, `${all.length} rows`);
  assert.equal(new Set(all).size, all.length);
});
