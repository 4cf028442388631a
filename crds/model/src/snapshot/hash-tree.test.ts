import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOf, emptyHashTree, type HashLeaf, hashOfTree, updateHashTree } from "./hash-tree.ts";

const leaves: readonly HashLeaf[] = Array.from({ length: 1000 }, (_, number) => ({
  section: "services",
  id: `${number.toString(16).padStart(4, "0").slice(1)}-${number}`,
  digest: digestOf({ number }),
}));

test("rehashes only the buckets that a change touches", () => {
  const before = updateHashTree(emptyHashTree, leaves);
  const [leaf] = leaves;
  assert.ok(leaf);
  const after = updateHashTree(before, [{ ...leaf, digest: digestOf({ number: -1 }) }]);
  const others = after.filter((page, index) => page !== before[index]);
  assert.equal(others.length, 1);
  const buckets = after.flatMap((page) => page.buckets);
  const bucketsBefore = before.flatMap((page) => page.buckets);
  assert.equal(buckets.filter((bucket, index) => bucket !== bucketsBefore[index]).length, 1);
  assert.notEqual(hashOfTree(after), hashOfTree(before));
});

test("does not depend on order, and is unaffected by removed entries", () => {
  const tree = updateHashTree(emptyHashTree, leaves);
  assert.equal(hashOfTree(updateHashTree(emptyHashTree, leaves.toReversed())), hashOfTree(tree));
  const emptied = updateHashTree(
    tree,
    leaves.map((leaf) => ({ ...leaf, digest: null })),
  );
  assert.equal(hashOfTree(emptied), hashOfTree(emptyHashTree));
});

test("distinguishes equal ids of different sections", () => {
  const leaf = { id: "00", digest: digestOf({}) };
  const roots = ["services", "routes"].map((section) =>
    hashOfTree(updateHashTree(emptyHashTree, [{ ...leaf, section }])),
  );
  assert.notEqual(roots[0], roots[1]);
});

test("gives equal digests for equal content, whatever the order of members", () => {
  assert.equal(digestOf({ a: 1, b: { c: 2, d: null } }), digestOf({ b: { c: 2 }, a: 1 }));
  assert.notEqual(digestOf({ a: 1 }), digestOf({ a: "1" }));
});
