import assert from "node:assert/strict";
import { test } from "node:test";
import { DependencyIndex, isFewChanges } from "./dependency-index.ts";

function exampleIndex() {
  const index = new DependencyIndex();
  index.add("Route/a/web", ["Service/a/web", "ReferenceGrant/in/b"]);
  index.add("Plugin/a/limit", ["Service/a/web", "Secret/a/password"]);
  return index;
}
const affected = (index: DependencyIndex, changed: readonly string[], { hasNewId = true } = {}) =>
  [...index.affectedBy(changed, () => hasNewId)].sort();

test("a resource with a new id affects itself and its dependents", () => {
  assert.deepEqual(affected(exampleIndex(), ["Service/a/web"]), ["Plugin/a/limit", "Route/a/web", "Service/a/web"]);
});

test("a resource that keeps its id affects only itself", () => {
  assert.deepEqual(affected(exampleIndex(), ["Service/a/web"], { hasNewId: false }), ["Service/a/web"]);
});

test("Secrets and grants affect their dependents, and are not translated themselves", () => {
  const keys = ["Secret/a/password", "ReferenceGrant/in/b", "Secret/a/other"];
  assert.deepEqual(affected(exampleIndex(), keys, { hasNewId: false }), ["Plugin/a/limit", "Route/a/web"]);
});

test("a removed dependency has no effect, and other dependencies of the same resource remain", () => {
  const index = exampleIndex();
  index.remove("Route/a/web", ["Service/a/web", "Service/a/unknown"]);
  assert.deepEqual(affected(index, ["Service/a/web"]), ["Plugin/a/limit", "Service/a/web"]);
  assert.deepEqual(affected(index, ["ReferenceGrant/in/b"]), ["Route/a/web"]);
});

for (const [changed, all, isFew] of [
  [16, 0, true],
  [17, 20, false],
  [250, 1000, true],
  [251, 1000, false],
] as const)
  test(`isFewChanges returns ${isFew} for ${changed} changes among ${all} resources`, () => {
    assert.equal(isFewChanges(changed, all), isFew);
  });
