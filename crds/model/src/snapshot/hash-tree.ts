/**
 * The content hash of a snapshot, kept incrementally: SHA-256 over 64 pages, each over 64 buckets, each over its
 * values' digests in the order of their keys. A change costs the buckets that it touches, not the whole. The digests
 * are not kept here: those of a hundred thousand entities take too much memory.
 */
import { hash } from "node:crypto";
import { canonicalJson } from "../ids.ts";

/** Buckets in a page, and pages in the tree. */
const FAN = 64;

/** The hash of an empty bucket, and of a page without values, is "". */
interface HashPage {
  readonly buckets: readonly string[];
  readonly hash: string;
}

/** Plain data; unchanged pages are shared between trees. `byId` returns the bucket of an id. */
export type HashTree = readonly HashPage[];

const emptyPage: HashPage = Object.freeze({ buckets: Array.from({ length: FAN }, () => ""), hash: "" });

export const emptyHashTree: HashTree = Object.freeze(Array.from({ length: FAN }, () => emptyPage));

const digests = new WeakMap<object, string>();

/** SHA-256 of the value's canonical JSON, in hex. Cached per object, which must therefore be frozen. */
export function digestOf(value: object): string {
  let digest = digests.get(value);
  if (digest === undefined) {
    digest = hash("sha256", canonicalJson(value));
    digests.set(value, digest);
  }
  return digest;
}

/** @param linesOf A line for each value of a bucket, in any order: its section, id and digest. */
export function updateHashTree(
  tree: HashTree,
  touched: ReadonlySet<number>,
  linesOf: (bucket: number) => string[],
): HashTree {
  const next = tree.slice();
  for (const [page, indexes] of Map.groupBy(touched, (index) => Math.floor(index / FAN))) {
    const buckets = (tree[page] ?? emptyPage).buckets.slice();
    for (const index of indexes) buckets[index % FAN] = hashUnlessEmpty(linesOf(index).sort());
    next[page] = { buckets, hash: buckets.every((bucket) => bucket === "") ? "" : hashAll(buckets) };
  }
  return next;
}

export const hashOfTree = (tree: HashTree): string => hashAll(tree.map((page) => page.hash));

export const differingBuckets = (one: HashTree, other: HashTree): ReadonlySet<number> =>
  new Set(
    one.flatMap(({ buckets }, page) =>
      buckets.flatMap((bucket, index) => (bucket === other[page]?.buckets[index] ? [] : [page * FAN + index])),
    ),
  );

const hashAll = (hashes: readonly string[]): string => hash("sha256", hashes.join("\n"));

const hashUnlessEmpty = (lines: readonly string[]): string => (lines.length === 0 ? "" : hashAll(lines));
