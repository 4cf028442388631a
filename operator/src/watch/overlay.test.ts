import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { overlay } from "./overlay.ts";

const names: readonly string[] = ["a", "b", "c", "d"];
const key = fc.constantFrom(...names);

test("equals a copy with the same changes, in the same order", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(key, fc.nat())),
      fc.array(fc.tuple(key, fc.option(fc.nat(), { nil: undefined }))),
      (below, above) => {
        const base = new Map(below);
        const over = new Map(above);
        const copy = new Map(base);
        for (const [name, value] of over)
          if (value === undefined) copy.delete(name);
          else copy.set(name, value);
        const laid = overlay(base, over);
        assert.deepEqual([...laid], [...copy]);
        assert.deepEqual([...laid.values()], [...copy.values()]);
        assert.deepEqual([...laid.keys()], [...copy.keys()]);
        assert.equal(laid.size, copy.size);
        for (const name of names) assert.deepEqual([laid.get(name), laid.has(name)], [copy.get(name), copy.has(name)]);
        const told: unknown[] = [];
        laid.forEach((value, name) => {
          told.push([name, value]);
        });
        assert.deepEqual(told, [...copy]);
      },
    ),
  );
});
