import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BoundedGroups, CounterGroup } from "./counter-groups.ts";

const NAMES = Array.from({ length: 40 }, (_, at) => at);

test("`largest` finds the largest of 10 groups, a group of at least half the largest size among 40 groups, and none after all are dropped", () => {
  const steps = fc.array(
    fc.record({ group: fc.integer({ min: 0, max: 39 }), grows: fc.integer({ min: -9, max: 20 }) }),
  );
  fc.assert(
    fc.property(steps, fc.constantFrom(10, NAMES.length), (changes, count) => {
      const groups = NAMES.slice(0, count).map(() => new CounterGroup<string>());
      const all = new BoundedGroups<string>(Number.POSITIVE_INFINITY);
      let added = 0;
      for (const { group: at, grows } of changes) {
        const group = groups[at % count];
        if (group === undefined) continue;
        for (let left = grows; left > 0; left--) {
          const name = String(added++);
          all.add(group, name, name);
        }
        for (const name of [...group.values()].slice(0, Math.max(0, -grows))) all.delete(group, name);
        const most = Math.max(...groups.map(({ size }) => size));
        const found = all.largest()?.size ?? 0;
        assert.ok(count === 10 ? found === most : found * 2 >= most, `${found} of ${most}`);
      }
      for (const group of groups) all.drop(group);
      assert.equal(all.largest(), undefined);
    }),
  );
});
