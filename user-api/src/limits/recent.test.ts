import assert from "node:assert/strict";
import { it } from "node:test";
import { Recent } from "./recent.ts";

it("what was used last is kept, and what was not used for longest goes", () => {
  const recent = new Recent<number>(2);
  recent.set("a", 1);
  recent.set("b", 2);
  assert.equal(recent.get("a"), 1);
  recent.set("c", 3);
  assert.deepEqual(
    ["a", "b", "c"].map((key) => recent.get(key)),
    [1, undefined, 3],
  );
  recent.set("a", 4);
  assert.equal(recent.get("a"), 4);
  assert.equal(recent.get("c"), 3);
});
