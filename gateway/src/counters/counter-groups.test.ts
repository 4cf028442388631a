import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LargestFirst } from "./counter-groups.ts";

const NAMES = Array.from({ length: 40 }, (_, at) => at);

test("of few groups the largest is found, and of many one with at least half of the largest's size", () => {
  const steps = fc.array(
    fc.record({ group: fc.integer({ min: 0, max: 39 }), grows: fc.integer({ min: -9, max: 20 }) }),
  );
  fc.assert(
    fc.property(steps, fc.constantFrom(10, NAMES.length), (changes, count) => {
      const groups = NAMES.slice(0, count).map(() => ({ size: 0 }));
      const bySize = new LargestFirst<{ size: number }>();
      for (const { group: at, grows } of changes) {
        const group = groups[at % count];
        for (let left = grows; group !== undefined && left > 0; left--) {
          group.size++;
          bySize.grown(group);
        }
        for (let left = -grows; group !== undefined && left > 0 && group.size > 0; left--) {
          group.size--;
          bySize.shrunk(group);
        }
        const most = Math.max(...groups.map(({ size }) => size));
        const found = bySize.largest()?.size ?? 0;
        assert.ok(count === 10 ? found === most : found * 2 >= most, `${found} of ${most}`);
      }
      for (const group of groups) bySize.remove(group);
      assert.equal(bySize.largest(), undefined);
    }),
  );
});
