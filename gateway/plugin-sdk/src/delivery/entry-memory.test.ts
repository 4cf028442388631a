import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EntryMemory, StoredBatch, type StoredEntry, storeAlone } from "./entry-memory.ts";

/** Adds an entry to a memory without entries that wait, and takes it. */
function stored(memory: EntryMemory, text: string): StoredEntry {
  memory.add(text, Buffer.byteLength(text));
  return memory.take();
}

const textOf = (entry: StoredEntry): string => new StoredBatch([entry]).texts()[0] ?? "";

const joined: readonly (readonly [
  texts: readonly string[],
  separator: string,
  ends: readonly string[],
  all: string,
])[] = [
  [["{}"], "", [], "{}"],
  [["{}"], ",", ["[", "]"], "[{}]"],
  [["a", "ü", "€"], ",", ["[", "]"], "[a,ü,€]"],
  [["a", "b"], "\n", ["", "\n"], "a\nb\n"],
  [["", "", "a"], ", ", [], ", , a"],
  [[], ",", ["[", "]"], "[]"],
  [["\ud800"], "", [], "\ufffd"],
];

for (const [texts, separator, ends, all] of joined) {
  test(`entries ${JSON.stringify(texts)} are joined to ${JSON.stringify(all)}`, () => {
    const memory = new EntryMemory();
    const batch = new StoredBatch(texts.map((text) => stored(memory, text)));
    assert.equal(batch.length, texts.length);
    assert.equal(batch.join(separator, ...ends).toString(), all);
  });
}

test("the buffers that join returns during one delivery differ, and are used again after the delivery", () => {
  const memory = new EntryMemory();
  const batch = new StoredBatch(["a", "b"].map((text) => stored(memory, text)));
  const [one, other] = [batch.join(","), batch.join(";")];
  assert.deepEqual([one.toString(), other.toString()], ["a,b", "a;b"]);
  batch.settle();
  const used = [one.buffer, other.buffer];
  assert.ok(used.includes(batch.join(",").buffer));
  assert.ok(!used.includes(new StoredBatch(batch.entries).join(",").buffer), "a buffer in use is not lent again");
});

test("entries are taken in their order, and keep their bytes until they are freed", () => {
  const sizes = fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 2000 }));
  const actions = fc.array(fc.oneof({ weight: 2, arbitrary: sizes }, fc.constantFrom("take", "free")), {
    maxLength: 300,
  });
  fc.assert(
    fc.property(actions, (list) => {
      const memory = new EntryMemory();
      const waiting: string[] = [];
      const taken: { readonly entry: StoredEntry; readonly text: string }[] = [];
      for (const [index, action] of list.entries()) {
        if (action === "free") {
          const oldest = taken.shift();
          if (oldest !== undefined) memory.free(oldest.entry);
        } else if (action === "take") {
          const text = waiting.shift();
          if (text !== undefined) taken.push({ entry: memory.take(), text });
        } else {
          const text = String.fromCharCode(97 + (index % 26)).repeat(Number(action));
          // The bytes are copied, and there may be more of them than belong to the entry.
          const entry = index % 2 === 0 ? text : { bytes: Buffer.from(`${text}more`), length: text.length };
          memory.add(entry, text.length);
          waiting.push(text);
        }
        assert.equal(memory.count, waiting.length);
        assert.equal(memory.bytes, waiting.join("").length);
      }
      for (const { entry, text } of taken) assert.equal(textOf(entry), text);
      for (const text of waiting) assert.equal(textOf(memory.take()), text);
    }),
  );
});

test("a memory in which many entries have waited is used again", () => {
  const memory = new EntryMemory();
  for (let round = 0; round < 3; round++) {
    for (let count = 0; count < 20_000; count++) memory.add(`${count}`, `${count}`.length);
    for (let count = 0; count < 20_000; count++) {
      const entry = memory.take();
      assert.equal(textOf(entry), `${count}`);
      memory.free(entry);
    }
  }
});

const sizes: readonly (readonly [what: string, sizeOf: (index: number) => number])[] = [
  ["small", () => 100],
  ["of the size of usual records", () => 1600],
  ["just small enough to share memory", () => 8192],
  ["just too large to share memory", () => 8193],
  ["small and large in turn", (index) => (index % 2 === 0 ? 10 : 9000)],
];

for (const [what, sizeOf] of sizes) {
  test(`entries that are ${what} take at most a seventh more memory than their bytes, plus three chunks`, () => {
    const memory = new EntryMemory();
    let bytes = 0;
    const chunks = new Set<Buffer>();
    for (let index = 0; index < 2000; index++) {
      memory.add("x".repeat(sizeOf(index)), sizeOf(index));
      bytes += sizeOf(index);
    }
    while (memory.count > 0) chunks.add(memory.take().chunk.bytes);
    const allocated = [...chunks].reduce((sum, { length }) => sum + length, 0);
    assert.ok(allocated <= (bytes * 8) / 7 + 3 * 65_536, `${allocated} for ${bytes}`);
  });
}

test("a queue that is never empty uses the same few chunks again and again", () => {
  const memory = new EntryMemory();
  const chunks = new Set<Buffer>();
  for (let count = 0; count < 10_000; count++) {
    memory.add("x".repeat(1600), 1600);
    if (count < 100) continue;
    const entry = memory.take();
    chunks.add(entry.chunk.bytes);
    memory.free(entry);
  }
  assert.ok(chunks.size <= 8, `${chunks.size} chunks`);
});

test("queues of few entries have small chunks, which an empty queue gives back", () => {
  const [one, other] = [new EntryMemory(), new EntryMemory()];
  const first = stored(one, "a");
  assert.equal(first.chunk.bytes.length, 8192);
  one.free(first);
  assert.equal(stored(other, "b").chunk.bytes, first.chunk.bytes);
});

test("an entry that is stored alone has a chunk of exactly its length", () => {
  const { chunk, start, end } = storeAlone("ü", 2);
  assert.deepEqual([chunk.bytes.toString(), chunk.bytes.length, start, end], ["ü", 2, 0, 2]);
});
