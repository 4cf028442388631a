import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCaches } from "../../../gateway/src/plugin-caches/create-caches.ts";
import { MemoryCaches } from "../../../gateway/src/plugin-caches/memory-caches.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { cachesSuite, textCodec } from "./suite.ts";

const { redis } = withConfigDefaults("proxy-cache", { strategy: "memory" });

cachesSuite("caches in memory", async () => {
  let time = 1_700_000_000_000;
  const connect = () => {
    throw new Error("a cache in memory opens no connection");
  };
  return {
    caches: createCaches({ memory: 1_000_000, warn() {}, connect, now: () => time }),
    options: { strategy: "memory", redis, generation: "1", codec: textCodec },
    async advance(milliseconds) {
      time += milliseconds;
    },
  };
});

describe("caches in memory of limited size", () => {
  const text = "x".repeat(400);
  /** The bytes that a cache counts for `text` under a key of two characters, with 200 bytes of overhead. */
  const each = 200 + 2 * 2 + 800;

  it("drop the values that have not been used for the longest time", () => {
    const all = new MemoryCaches({ bytes: 3 * each, now: () => 0 });
    const cache = all.open(textCodec);
    for (const key of ["k1", "k2", "k3"]) cache.set(key, text, 1000);
    assert.equal(cache.get("k1"), text);
    cache.set("k4", text, 1000);
    assert.deepEqual(
      ["k1", "k2", "k3", "k4"].filter((key) => cache.get(key) !== undefined),
      ["k1", "k3", "k4"],
    );
    assert.equal(all.bytes, 3 * each);
  });

  it("do not count a peek as a use, and keep an expired value when it is peeked at", () => {
    let time = 0;
    const all = new MemoryCaches({ bytes: 2 * each, now: () => time });
    const cache = all.open(textCodec);
    for (const key of ["k1", "k2"]) cache.set(key, text, 1000);
    assert.equal(cache.peek("k1"), text);
    time = 1000;
    assert.deepEqual([cache.peek("k1"), cache.size], [undefined, 2]);
    time = 0;
    cache.set("k3", text, 1000);
    assert.deepEqual([cache.peek("k1"), cache.peek("k2")], [undefined, text]);
  });

  it("drop values of the instance with the most bytes first", () => {
    const all = new MemoryCaches({ bytes: 4 * each, now: () => 0 });
    const [small, flooded] = [all.open(textCodec), all.open(textCodec)];
    small.set("k1", text, 1000);
    for (let at = 0; at < 9; at++) flooded.set(`f${at}`, text, 1000);
    assert.deepEqual([small.get("k1"), flooded.size], [text, 3]);
  });

  it("hold at most the configured number of values", () => {
    const all = new MemoryCaches({ bytes: 1_000_000, values: 2, now: () => 0 });
    const cache = all.open(textCodec);
    for (const key of ["k1", "k2", "k3"]) cache.set(key, text, 1000);
    assert.deepEqual([cache.get("k1"), cache.size], [undefined, 2]);
  });

  it("do not store a value that is larger than all of their memory, and keep the stored values", () => {
    const all = new MemoryCaches({ bytes: each, now: () => 0 });
    const cache = all.open(textCodec);
    cache.set("k1", text, 1000);
    cache.set("k2", `${text}x`, 1000);
    assert.deepEqual([cache.get("k1"), cache.get("k2")], [text, undefined]);
  });

  it("free their memory when their instance ends, and store nothing afterwards", () => {
    const all = new MemoryCaches({ bytes: 1_000_000, now: () => 0 });
    const cache = all.open(textCodec);
    cache.set("k1", text, 1000);
    cache.end();
    cache.set("k2", text, 1000);
    assert.deepEqual([all.bytes, cache.get("k2")], [0, undefined]);
  });
});
