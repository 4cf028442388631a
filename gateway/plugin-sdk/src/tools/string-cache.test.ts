import assert from "node:assert/strict";
import { test } from "node:test";
import { StringCache } from "./string-cache.ts";

function counted(size?: number) {
  const computed: string[] = [];
  const cache = new StringCache((text) => {
    computed.push(text);
    return text.toUpperCase();
  }, size);
  return { cache, computed };
}

test("the value of a recent text is not computed again", () => {
  const { cache, computed } = counted();
  assert.deepEqual([cache.of("a"), cache.of("b"), cache.of("a")], ["A", "B", "A"]);
  assert.deepEqual(computed, ["a", "b"]);
});

test("above the size of the cache, unused texts are dropped and used ones are kept", () => {
  const { cache, computed } = counted(10);
  for (let at = 0; at < 100; at++) {
    cache.of("used");
    cache.of(`once-${at}`);
  }
  assert.equal(computed.filter((text) => text === "used").length, 1);
  cache.of("once-0");
  assert.equal(computed.filter((text) => text === "once-0").length, 2);
});

test("the value of a text of more than 256 characters is computed each time", () => {
  const { cache, computed } = counted();
  cache.of("x".repeat(257));
  cache.of("x".repeat(257));
  assert.equal(computed.length, 2);
});
