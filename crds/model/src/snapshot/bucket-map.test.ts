import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deriveId } from "../ids.ts";
import { BucketMap, bucketDifferences, hashOfId, hashOfText } from "./bucket-map.ts";

const ids = Array.from({ length: 2000 }, (_, number) => deriveId("services", `${number}`));
const keys = fc.constantFrom(...ids.slice(0, 40));
const changes = fc.array(fc.array(fc.tuple(keys, fc.option(fc.nat({ max: 3 }), { nil: undefined })), { maxLength: 8 }));

for (const place of [hashOfId, hashOfText]) {
  test(`a BucketMap has the same entries as a plain map, and the same differences from earlier maps (${place.name})`, () => {
    fc.assert(
      fc.property(changes, (steps) => {
        const plain = new Map<string, number>();
        let map = new BucketMap<number>(place);
        for (const step of steps) {
          const before = new Map(plain);
          const mapBefore = map;
          for (const [key, value] of step)
            if (value === undefined) plain.delete(key);
            else plain.set(key, value);
          map = map.with(step);
          assert.deepEqual(new Map(map), plain);
          assert.equal(map.size, plain.size);
          assert.deepEqual(new Map(mapBefore), before, "the earlier map has changed");
          const setOf = (list: ReturnType<typeof bucketDifferences>) => new Set(list.map((one) => JSON.stringify(one)));
          assert.deepEqual(setOf(bucketDifferences(mapBefore, map)), setOf(bucketDifferences(before, plain)));
        }
      }),
    );
  });
}

test("a map with ids as keys is ordered by id", () => {
  const map = new BucketMap<string>(hashOfId).with(ids.map((id) => [id, id]));
  assert.deepEqual([...map.keys()], ids.toSorted());
  assert.deepEqual([...map.values()], ids.toSorted());
});

test("a changed map shares all buckets that the change does not touch, and a change to the same value returns the map itself", () => {
  for (const place of [hashOfId, hashOfText]) {
    const before = new BucketMap<string>(place).with(ids.map((id) => [id, id]));
    const [first = "", second = ""] = ids;
    const after = before.with([
      [first, "another"],
      [second, undefined],
    ]);
    assert.ok(after.buckets.filter((bucket, index) => bucket !== before.buckets[index]).length <= 2);
    assert.equal(before.with([[first, first]]), before);
    assert.ok(Math.max(...before.buckets.map(({ size }) => size)) < 30, "the buckets are not filled evenly");
  }
});

test("a map that outgrows its buckets gets more buckets and keeps its entries", () => {
  const many = Array.from({ length: 20_000 }, (_, number) => deriveId("routes", `${number}`));
  for (const place of [hashOfId, hashOfText]) {
    const some = new BucketMap<string>(place).with(many.slice(0, 16_384).map((id) => [id, id]));
    const all = some.with(many.slice(16_384).map((id) => [id, id]));
    assert.ok(all.buckets.length > some.buckets.length);
    assert.equal(all.size, many.length);
    assert.ok(many.every((id) => all.get(id) === id && all.has(id)));
    if (place === hashOfId) assert.deepEqual([...all.keys()], many.toSorted());
    assert.equal(bucketDifferences(some, all).length, many.length - some.size);
    const [first = ""] = many;
    const next = all.with([[first, undefined]]);
    assert.equal(next.buckets.filter((bucket, index) => bucket !== all.buckets[index]).length, 1);
    assert.deepEqual(bucketDifferences(all, next), [{ key: first, before: first, after: undefined }]);
    assert.ok(Math.max(...all.buckets.map(({ size }) => size)) < 30, "the buckets are not filled evenly");
  }
});
