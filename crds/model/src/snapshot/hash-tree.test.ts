import assert from "node:assert/strict";
import { test } from "node:test";
import { hashOfId } from "./bucket-map.ts";
import { differingBuckets, emptyHashTree, type HashTree, hashOfTree, updateHashTree } from "./hash-tree.ts";

type Leaf = readonly [section: "services" | "routes", id: string, number: number];

const leaves: readonly Leaf[] = Array.from({ length: 1000 }, (_, number) => [
  "services",
  `${number.toString(16).padStart(4, "0").slice(1)}-${number}`,
  number,
]);

/** Updates the buckets of the changed leaves. Their new content is the leaves of `all` in these buckets. */
function update(tree: HashTree, all: readonly Leaf[], changed: readonly Leaf[] = all): HashTree {
  const touched = changed.map(([section, id]) => ({ section, bucket: hashOfId(id) }));
  return updateHashTree(tree, touched, ({ section, bucket }) =>
    all
      .filter(([inSection, id]) => inSection === section && hashOfId(id) === bucket)
      .map(([, id, number]) => `${id} ${number}`)
      .sort(),
  );
}

test("a change rehashes only the buckets that it touches", () => {
  const before = update(emptyHashTree, leaves);
  const [, ...others] = leaves;
  const id = leaves[0]?.[1] ?? "";
  const leaf: Leaf = ["services", id, -1];
  const after = update(before, [leaf, ...others], [leaf]);
  const pages = after.filter((page, index) => page !== before[index]);
  assert.equal(pages.length, 1);
  assert.deepEqual([...differingBuckets(before, after)], [hashOfId(id)]);
  assert.notEqual(hashOfTree(after), hashOfTree(before));
});

test("the hash does not depend on the order of entries, and is unaffected by removed entries", () => {
  const tree = update(emptyHashTree, leaves);
  assert.equal(hashOfTree(update(emptyHashTree, leaves.toReversed())), hashOfTree(tree));
  assert.equal(hashOfTree(update(tree, [], leaves)), hashOfTree(emptyHashTree));
});

test("the hash distinguishes equal ids of different sections", () => {
  const roots = (["services", "routes"] as const).map((section) =>
    hashOfTree(update(emptyHashTree, [[section, "000", 1]])),
  );
  assert.notEqual(roots[0], roots[1]);
});

test("the hash ignores empty sections, so that a version of Sluice with a further collection computes the same hash", () => {
  const tree = update(emptyHashTree, leaves);
  const routes = leaves.map(([, id, number]): Leaf => ["routes", id, number]);
  assert.equal(hashOfTree(update(tree, leaves, routes)), hashOfTree(tree));
});
