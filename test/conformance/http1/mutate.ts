/**
 * Mutations: flipped bits, dropped, doubled, inserted and replaced bytes, replaced line ends, repeated lines, and cut
 * texts.
 */
import fc from "fast-check";

/** Bytes that parsers have mishandled. */
const nasty = [
  "\r",
  "\n",
  "\r\n",
  "\0",
  " ",
  "\t",
  ":",
  ",",
  ";",
  "\x0b",
  "\x7f",
  "\x80",
  "\xff",
  "0",
  "a",
  "\r\n\r\n",
];

type Mutation = (text: string) => string;

/** A position as a fraction of a text. Not `fc.double`, whose values are mostly close to zero. */
export const shareOfText = fc.integer({ min: 0, max: 9_999 }).map((part) => part / 10_000);

const mutation: fc.Arbitrary<Mutation> = fc
  .record({
    kind: fc.constantFrom("drop", "insert", "replace", "flip", "double", "cut", "swapEnds", "repeatLine"),
    at: shareOfText,
    length: fc.integer({ min: 1, max: 8 }),
    byte: fc.constantFrom(...nasty),
    bit: fc.integer({ min: 0, max: 7 }),
  })
  .map(({ kind, at: part, length, byte, bit }) => (text: string) => {
    const at = Math.floor(part * text.length);
    const before = text.slice(0, at);
    switch (kind) {
      case "drop":
        return before + text.slice(at + length);
      case "insert":
        return before + byte + text.slice(at);
      case "replace":
        return before + byte + text.slice(at + 1);
      case "flip":
        return before + String.fromCharCode((text.charCodeAt(at) ^ (1 << bit)) & 0xff) + text.slice(at + 1);
      case "double":
        return before + text.slice(at, at + length) + text.slice(at);
      case "cut":
        return before;
      case "swapEnds":
        return before + text.slice(at).replace("\r\n", byte);
      default: {
        const line = text.slice(at).match(/\r\n([^\r\n]*\r\n)/)?.[1] ?? "";
        return text.replace(line, line + line);
      }
    }
  });

/** Two thirds of the texts are unchanged; the others have one to three mutations. */
export const mutatedText = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      text,
      fc.oneof(
        { weight: 2, arbitrary: fc.constant<Mutation[]>([]) },
        { weight: 1, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 3 }) },
      ),
    )
    .map(([whole, mutations]) => mutations.reduce((changed, mutate) => mutate(changed), whole));
