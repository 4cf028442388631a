import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { randomCases } from "../../../../../tools/stages/random-cases.ts";
import { HpackEncoder } from "./encoder.ts";
import { blockReader, blockWriter } from "./testing-blocks.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ""), "hex");

/** Limits the table to 256 bytes, as the examples of responses do. */
const SMALL_TABLE = "3fe101";
const get = [":method", "GET", ":scheme", "http", ":path", "/", ":authority", "www.example.com"];
const https = [":method", "GET", ":scheme", "https", ":path", "/index.html", ":authority", "www.example.com"];
const date = ["date", "Mon, 21 Oct 2013 20:13:21 GMT"];
const found = ["cache-control", "private", ...date, "location", "https://www.example.com"];
const cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
const last = [
  ...[":status", "200", "cache-control", "private", "date", "Mon, 21 Oct 2013 20:13:22 GMT"],
  ...["location", "https://www.example.com", "content-encoding", "gzip", "set-cookie", cookie],
];
const requests = [get, [...get, "cache-control", "no-cache"], [...https, "custom-key", "custom-value"]];
const responses = [[":status", "302", ...found], [":status", "307", ...found], last];

const examples: readonly (readonly [
  section: string,
  blocks: readonly string[],
  fields: readonly (readonly string[])[],
])[] = [
  ["C.2.1", ["400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572"], [["custom-key", "custom-header"]]],
  ["C.2.2", ["040c 2f73 616d 706c 652f 7061 7468"], [[":path", "/sample/path"]]],
  ["C.2.3", ["1008 7061 7373 776f 7264 0673 6563 7265 74"], [["password", "secret"]]],
  ["C.2.4", ["82"], [[":method", "GET"]]],
  [
    "C.3",
    [
      "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
      "8286 84be 5808 6e6f 2d63 6163 6865",
      "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ],
    requests,
  ],
  [
    "C.4",
    [
      "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
      "8286 84be 5886 a8eb 1064 9cbf",
      "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ],
    requests,
  ],
  [
    "C.5",
    [
      `${SMALL_TABLE} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
       2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
      "4803 3330 37c1 c0bf",
      `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a
       6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d
       6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31`,
    ],
    responses,
  ],
  [
    "C.6",
    [
      `${SMALL_TABLE} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
       2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
      "4883 640e ffc1 c0bf",
      `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d
       d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106
       3d50 07`,
    ],
    responses,
  ],
];
for (const [section, blocks, fields] of examples) {
  test(`the example of RFC 7541 section ${section} is decoded`, () => {
    const read = blockReader();
    assert.deepEqual(
      blocks.map((block) => read(hex(block))),
      fields,
    );
  });
}

const malformed: readonly (readonly [says: string, block: string])[] = [
  ["the index 0", "80"],
  ["an index beyond the static table, while the dynamic table is empty", "be"],
  ["the name of an entry beyond both tables", "7e 01 61"],
  ["an integer that is too large", "ff ff ff ff ff ff 0f"],
  ["an integer that does not end", "ff 80"],
  ["a name that is longer than the block", "00 0a 61"],
  ["a value that is longer than the block", "00 01 61 0a 62"],
  ["a literal without a value", "00 01 61"],
  ["a table larger than the setting", "3f e2 1f"],
  ["a size of the table after a field", "82 20"],
  ["padding of a Huffman code with a zero bit", "00 01 61 81 06"],
  ["padding of a Huffman code that is longer than seven bits", "00 01 61 82 1f ff"],
  ["the symbol EOS in a Huffman code", "00 01 61 84 ff ff ff ff"],
];
for (const [says, block] of malformed) {
  test(`a block is refused that has ${says}`, () => assert.equal(blockReader()(hex(block)), null));
}

test("a field that is larger than the table empties it, and an entry may name one that it evicts", () => {
  const read = blockReader();
  // The table holds `a: b` (34 bytes); its limit is then 40 bytes, so that the next entry with the same name evicts it.
  assert.deepEqual(read(hex("40 01 61 01 62")), ["a", "b"]);
  assert.deepEqual(read(hex("3f 09 7e 01 63")), ["a", "c"]);
  assert.deepEqual(read(hex("be")), ["a", "c"]);
  const long = Buffer.concat([hex("40 01 64 14"), Buffer.alloc(20, "e")]);
  assert.deepEqual(read(long), ["d", "e".repeat(20)]);
  assert.equal(read(hex("be")), null);
});

test("the names of a block that is too large are copied only up to a limit", () => {
  const entry = Buffer.concat([hex("40 7f 81 1f"), Buffer.alloc(4096, "n"), hex("00")]);
  const small = Buffer.concat([hex("40 7f a1 1e"), Buffer.alloc(4000, "n"), hex("00")]);
  const names = Buffer.alloc(40_000, hex("7e00"));
  for (const [block, isRead] of [
    [entry, true],
    [Buffer.concat([small, Buffer.alloc(40_000, 0xbe)]), true],
    [Buffer.concat([small, names]), false],
  ] as const) {
    assert.equal(blockReader({ most: 10 })(block) !== null, isRead);
  }
});

test("the encoder indexes a repeated field, and never indexes secrets", () => {
  const write = blockWriter();
  const fields = ["server", "sluice/1", "set-cookie", "secret"];
  assert.deepEqual(
    write(fields),
    Buffer.concat([hex("76 08"), Buffer.from("sluice/1"), hex("1f 28 06"), Buffer.from("secret")]),
  );
  assert.deepEqual(write(fields), Buffer.concat([hex("be 1f 28 06"), Buffer.from("secret")]));
});

test("the encoder announces each change of the table's size, and uses no entry that was evicted", () => {
  const encoder = new HpackEncoder();
  const write = blockWriter(encoder);
  const read = blockReader();
  assert.deepEqual(read(write(["x-a", "b"])), ["x-a", "b"]);
  encoder.limitTable(0);
  encoder.limitTable(65_536);
  const block = write(["x-a", "b"]);
  assert.deepEqual(block.subarray(0, 4), hex("20 3f e1 1f"));
  assert.deepEqual(read(block), ["x-a", "b"]);
  encoder.limitTable(0);
  assert.deepEqual(write(["x-a", "b"]), hex("20 00 03 78 2d 61 01 62"));
});

const letters = "abcdefghijklmnopqrstuvwxyz-";
const name = fc.oneof(
  fc.constantFrom(":status", "server", "via", "cookie", "x-a", "content-type", "date"),
  fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 40 }),
);
const value = fc.oneof(
  fc.constantFrom("", "200", "404", "a", "text/html"),
  fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 300 }),
);
const list = fc.array(fc.tuple(name, value), { maxLength: 12 }).map((pairs) => pairs.flat());

test("what the encoder writes, the decoder reads, whatever the client's sizes of the table", () => {
  const steps = fc.array(fc.oneof(list, fc.constantFrom(0, 100, 4096, 10_000)), { maxLength: 40 });
  fc.assert(
    fc.property(steps, (sequence) => {
      const encoder = new HpackEncoder();
      const [write, read] = [blockWriter(encoder), blockReader()];
      for (const step of sequence) {
        if (typeof step === "number") encoder.limitTable(step);
        else assert.deepEqual(read(write(step)), step);
      }
    }),
    { numRuns: randomCases(100) },
  );
});

test("the decoder refuses or reads any bytes, and no field is longer than the block allows", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }), (blocks) => {
      const read = blockReader();
      for (const block of blocks) if (read(Buffer.from(block)) === null) return;
    }),
    { numRuns: randomCases(500) },
  );
});
