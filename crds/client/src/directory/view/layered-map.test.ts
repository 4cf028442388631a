import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { withChanges } from "./layered-map.ts";

test("a map with changes holds what a map holds in which they were made, and leaves the map before as it was", () => {
  const key = fc.nat(300).map(String);
  const changes = fc.array(fc.tuple(key, fc.option(fc.record({ value: fc.nat() }), { nil: undefined })), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(fc.array(changes, { maxLength: 20 }), (steps) => {
      let map: ReadonlyMap<string, object> = new Map();
      const plain = new Map<string, object>();
      const sorted = (entries: Iterable<[string, object]>) => [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
      for (const step of steps) {
        const before = map;
        const held = sorted(before);
        map = withChanges(before, new Map(step));
        for (const [name, value] of step) {
          if (value) plain.set(name, value);
          else plain.delete(name);
        }
        assert.deepEqual(sorted(map), sorted(plain));
        assert.deepEqual(sorted(before), held);
        assert.equal(map.size, plain.size);
        for (const [name] of step) assert.deepEqual([map.get(name), map.has(name)], [plain.get(name), plain.has(name)]);
      }
    }),
  );
});
