/**
 * The content hash of a snapshot, kept incrementally: SHA-256 over 256 buckets, each over its entities' digests in
 * the order of their keys. A change costs the buckets that it touches, not the whole.
 */
import { hash } from "node:crypto";
import { canonical } from "../ids.ts";

const BUCKETS = 256;

interface Bucket {
  readonly digests: ReadonlyMap<string, string>;
  readonly hash: string;
}

/** Immutable; the buckets that a change does not touch are shared. */
export type HashTree = readonly Bucket[];

/** The place of one value in the tree: its section (a collection, or endpoints) and its id. */
export interface Leaf {
  readonly section: string;
  readonly id: string;
  /** Null takes the value out. */
  readonly digest: string | null;
}

export const emptyTree: HashTree = Object.freeze(
  Array.from({ length: BUCKETS }, () => Object.freeze({ digests: new Map<string, string>(), hash: "" })),
);

const digests = new WeakMap<object, string>();

/** SHA-256 of the value's canonical JSON, in hex. Remembered for the object: it must be frozen. */
export function digestOf(value: object): string {
  let digest = digests.get(value);
  if (digest === undefined) {
    digest = hash("sha256", canonical(value));
    digests.set(value, digest);
  }
  return digest;
}

export function updateTree(tree: HashTree, leaves: Iterable<Leaf>): HashTree {
  const touched = new Map<number, Map<string, string>>();
  for (const { section, id, digest } of leaves) {
    const index = bucketOf(id);
    const changed = touched.get(index) ?? new Map(tree[index]?.digests);
    touched.set(index, changed);
    if (digest === null) changed.delete(`${section}/${id}`);
    else changed.set(`${section}/${id}`, digest);
  }
  if (touched.size === 0) return tree;
  return tree.map((bucket, index) => {
    const changed = touched.get(index);
    return changed === undefined ? bucket : { digests: changed, hash: hashBucket(changed) };
  });
}

export const rootOf = (tree: HashTree): string => hash("sha256", tree.map((bucket) => bucket.hash).join("\n"));

/** Ids are UUIDs, so their first byte spreads them; whatever else comes shares bucket 0. */
const bucketOf = (id: string): number => Number.parseInt(id.slice(0, 2), 16) & (BUCKETS - 1);

function hashBucket(content: ReadonlyMap<string, string>): string {
  if (content.size === 0) return "";
  const lines = [...content].map(([key, digest]) => `${key} ${digest}`).sort();
  return hash("sha256", lines.join("\n"));
}
