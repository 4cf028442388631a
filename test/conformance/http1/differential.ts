/**
 * Property tests with random messages. Each throws on failure, with the counterexample, and with the seed and the path
 * from which fast-check reproduces it.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { type Comparison, compareParsers } from "./compare.ts";
import { requestStreams, responses } from "./generate.ts";
import { shareOfText } from "./mutate.ts";
import { type AskedMethod, OurReader, readOurs } from "./read-ours.ts";
import type { Direction } from "./reading.ts";

export interface FuzzOptions {
  readonly direction: Direction;
  /** The number of random inputs, each the bytes of one connection. */
  readonly cases: number;
  readonly seed: number;
}

export interface DifferenceCounts {
  /** The number of messages that our parser and Node's both accepted with equal results. */
  readonly agreed: number;
  /** How many messages our parser rejected although Node accepted them, by the name of the fault. */
  readonly stricter: ReadonlyMap<string, number>;
}

const messages = { requests: requestStreams, responses };
/** The methods of the requests with which each text is read. Whether a response has a body depends on the method. */
const askedOf: Readonly<Record<Direction, readonly AskedMethod[]>> = { requests: ["GET"], responses: ["GET", "HEAD"] };

/** Asserts that our parser's result for each text equals Node's, or differs only as `compare` allows. */
export function readsAsNodeDoes({ direction, cases, seed }: FuzzOptions): DifferenceCounts {
  let agreed = 0;
  const stricter = new Map<string, number>();
  const check = (text: string): void => {
    for (const asked of askedOf[direction]) {
      const comparison: Comparison = compareParsers(text, { direction, asked });
      assert.equal(comparison.difference, null);
      agreed += comparison.agreed;
      const { stricter: name } = comparison;
      if (name !== null) stricter.set(name, (stricter.get(name) ?? 0) + 1);
    }
  };
  fc.assert(fc.property(messages[direction], check), { numRuns: cases, seed });
  return { agreed, stricter };
}

/** Asserts that our parser's result does not depend on how the bytes are split into pieces. */
export function readsPiecesAsTheWhole({ direction, cases, seed }: FuzzOptions): void {
  const places = fc.array(shareOfText, { maxLength: 6 });
  const check = (text: string, cuts: readonly number[]): void => {
    const whole = readOurs(text, { direction });
    const bytes = Buffer.from(text, "latin1");
    const ends = [...cuts.map((part) => Math.round(part * bytes.length)), bytes.length].toSorted((a, b) => a - b);
    assert.deepEqual(readPieces(bytes, ends, direction), whole);
    const everyByte = Array.from(bytes, (_, at) => at + 1);
    assert.deepEqual(readPieces(bytes, everyByte, direction), whole);
  };
  fc.assert(fc.property(messages[direction], places, check), { numRuns: cases, seed });
}

/** @param ends The end offsets of the pieces, in order. */
export function readPieces(bytes: Buffer, ends: readonly number[], direction: Direction) {
  const reader = new OurReader(direction);
  let at = 0;
  for (const end of ends) {
    reader.push(bytes.subarray(at, end));
    at = end;
  }
  return reader.end();
}
