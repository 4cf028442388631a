import assert from "node:assert/strict";
import { test } from "node:test";
import { LruCache } from "./lru-cache.ts";

test("above its size, a cache drops unused entries and keeps the used and the latest ones", () => {
  const cache = new LruCache<number>(10);
  cache.set("used", 0);
  for (let at = 1; at <= 100; at++) {
    cache.set(`once-${at}`, at);
    assert.equal(cache.get("used"), 0);
  }
  const kept = Array.from({ length: 100 }, (_, at) => cache.get(`once-${at + 1}`)).filter(
    (value) => value !== undefined,
  );
  assert.ok(kept.includes(100) && kept.length <= 20, `${kept}`);
});

test("an entry has the value that was set last, even if the old generation has an earlier one; a deleted entry has no value", () => {
  const cache = new LruCache<string>(2);
  cache.set("a", "first");
  cache.set("b", "b");
  cache.set("c", "c");
  cache.set("a", "second");
  assert.equal(cache.get("a"), "second");
  cache.delete("a");
  assert.equal(cache.get("a"), undefined);
});

test("a new value of an entry evicts no other entry", () => {
  const cache = new LruCache<number>(2);
  cache.set("a", 1);
  for (let value = 0; value < 10; value++) cache.set("b", value);
  assert.deepEqual([cache.get("a"), cache.get("b")], [1, 9]);
});
