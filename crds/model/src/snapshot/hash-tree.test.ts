import assert from "node:assert/strict";
import { test } from "node:test";
import { byId } from "./bucket-map.ts";
import { differingBuckets, digestOf, emptyHashTree, type HashTree, hashOfTree, updateHashTree } from "./hash-tree.ts";

type Leaf = readonly [section: string, id: string, value: object];

const leaves: readonly Leaf[] = Array.from({ length: 1000 }, (_, number) => [
  "services",
  `${number.toString(16).padStart(4, "0").slice(1)}-${number}`,
  { number },
]);

/** The tree after the buckets of `changed` got the content that they have among `all`. */
function update(tree: HashTree, all: readonly Leaf[], changed: readonly Leaf[] = all): HashTree {
  const contents = Map.groupBy(all, ([, id]) => byId(id));
  return updateHashTree(tree, new Set(changed.map(([, id]) => byId(id))), (bucket) =>
    (contents.get(bucket) ?? []).map(([section, id, value]) => `${section}/${id} ${digestOf(value)}`),
  );
}

test("rehashes only the buckets that a change touches", () => {
  const before = update(emptyHashTree, leaves);
  const [[section, id] = ["", ""], ...others] = leaves;
  const leaf: Leaf = [section, id, { number: -1 }];
  const after = update(before, [leaf, ...others], [leaf]);
  const pages = after.filter((page, index) => page !== before[index]);
  assert.equal(pages.length, 1);
  assert.deepEqual([...differingBuckets(before, after)], [byId(id)]);
  assert.notEqual(hashOfTree(after), hashOfTree(before));
});

test("does not depend on order, and is unaffected by removed entries", () => {
  const tree = update(emptyHashTree, leaves);
  assert.equal(hashOfTree(update(emptyHashTree, leaves.toReversed())), hashOfTree(tree));
  assert.equal(hashOfTree(update(tree, [], leaves)), hashOfTree(emptyHashTree));
});

test("distinguishes equal ids of different sections", () => {
  const roots = ["services", "routes"].map((section) => hashOfTree(update(emptyHashTree, [[section, "00", {}]])));
  assert.notEqual(roots[0], roots[1]);
});

test("gives equal digests for equal content, whatever the order of members", () => {
  assert.equal(digestOf({ a: 1, b: { c: 2, d: null } }), digestOf({ b: { c: 2 }, a: 1 }));
  assert.notEqual(digestOf({ a: 1 }), digestOf({ a: "1" }));
});
