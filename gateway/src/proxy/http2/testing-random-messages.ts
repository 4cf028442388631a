/** Random fields and bodies of messages, for the property tests that compare this HTTP/2 with Node's. */
import { createHash } from "node:crypto";
import fc from "fast-check";

const MOST_BODY = 100_000;
/** The prefix keeps names distinct from those that the gateway or Node treats in a special way. */
const PREFIX = "q-";

export type RandomFields = readonly (readonly [name: string, value: string])[];

export const randomString = (unit: string, minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...unit), minLength, maxLength });

const tokens = "abcdefghijklmnopqrstuvwxyz0123456789-!#$&'*+.^_`|~";
const visible = Array.from({ length: 94 }, (_, at) => String.fromCharCode(0x21 + at)).join("");
const name = randomString(tokens, 1, 30).map((rest) => `${PREFIX}${rest}`);
const value = fc.oneof(
  fc.constantFrom("", "0", "text/html"),
  randomString(`${visible} `, 0, 60).map((found) => found.trim()),
  randomString("ab", 200, 800),
);

export const randomFields: fc.Arbitrary<RandomFields> = fc.uniqueArray(fc.tuple(name, value), {
  maxLength: 8,
  selector: ([found]) => found,
});

export const randomTrailers: fc.Arbitrary<RandomFields> = fc.oneof(fc.constant([]), fc.constant([]), randomFields);

export const randomPath: fc.Arbitrary<string> = randomString("abc?&=_", 0, 40).map((rest) => `/${rest}`);

/** Bytes of a body; mostly few, so that a test is fast. */
export const randomSize: fc.Arbitrary<number> = fc.oneof(
  { weight: 8, arbitrary: fc.nat(1000) },
  { weight: 2, arbitrary: fc.constantFrom(0, 1, 16_384, 65_536) },
  { weight: 1, arbitrary: fc.nat(MOST_BODY) },
);

const bytes = Buffer.from(Array.from({ length: MOST_BODY }, (_, at) => (at * 31) >> 3));

/** The body with this number of bytes. */
export const bodyOfSize = (size: number): Buffer => bytes.subarray(0, size);

export const bodyDigest = (content: Buffer): string => createHash("sha1").update(content).digest("hex");

/** The lines of the random fields in a list of names and values, sorted. */
export const randomLinesIn = (flat: readonly string[]): readonly string[] =>
  flat
    .flatMap((found, at) => (at % 2 === 0 && found.startsWith(PREFIX) ? [`${found}: ${flat[at + 1]}`] : []))
    .toSorted();

/** The lines that the fields become, sorted. */
export const randomLinesOf = (sent: RandomFields): readonly string[] =>
  sent.map(([found, content]) => `${found}: ${content}`).toSorted();
