import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOf, emptyTree, type Leaf, rootOf, updateTree } from "./hash.ts";

const leaves: readonly Leaf[] = Array.from({ length: 1000 }, (_, number) => ({
  section: "services",
  id: `${number.toString(16).padStart(4, "0").slice(1)}-${number}`,
  digest: digestOf({ number }),
}));

test("rehashes only the buckets that a change touches", () => {
  const before = updateTree(emptyTree, leaves);
  const [leaf] = leaves;
  assert.ok(leaf);
  const after = updateTree(before, [{ ...leaf, digest: digestOf({ number: -1 }) }]);
  const others = after.filter((page, index) => page !== before[index]);
  assert.equal(others.length, 1);
  const buckets = after.flatMap((page) => page.buckets);
  const bucketsBefore = before.flatMap((page) => page.buckets);
  assert.equal(buckets.filter((bucket, index) => bucket !== bucketsBefore[index]).length, 1);
  assert.notEqual(rootOf(after), rootOf(before));
});

test("does not depend on order, and forgets what was taken out", () => {
  const tree = updateTree(emptyTree, leaves);
  assert.equal(rootOf(updateTree(emptyTree, leaves.toReversed())), rootOf(tree));
  const emptied = updateTree(
    tree,
    leaves.map((leaf) => ({ ...leaf, digest: null })),
  );
  assert.equal(rootOf(emptied), rootOf(emptyTree));
});

test("tells equal ids of different sections apart", () => {
  const leaf = { id: "00", digest: digestOf({}) };
  const roots = ["services", "routes"].map((section) => rootOf(updateTree(emptyTree, [{ ...leaf, section }])));
  assert.notEqual(roots[0], roots[1]);
});

test("gives values of equal content equal digests, whatever the order of members", () => {
  assert.equal(digestOf({ a: 1, b: { c: 2, d: null } }), digestOf({ b: { c: 2 }, a: 1 }));
  assert.notEqual(digestOf({ a: 1 }), digestOf({ a: "1" }));
});
