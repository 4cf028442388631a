/**
 * The content hash of a snapshot, kept incrementally: SHA-256 over 64 pages, each over 64 buckets, each over its
 * entities' digests in the order of their keys. A change costs the buckets that it touches, not the whole.
 */
import { hash } from "node:crypto";
import { canonicalJson } from "../ids.ts";
import { byId } from "./bucket-map.ts";

/** Buckets in a page, and pages in the tree. */
const FAN = 64;

interface Bucket {
  readonly digests: ReadonlyMap<string, string>;
  readonly hash: string;
}

interface Page {
  readonly buckets: readonly Bucket[];
  readonly hash: string;
}

/** Immutable; unchanged pages are shared between trees. */
export type HashTree = readonly Page[];

/** The place of one value in the tree: its section (a collection, or endpoints) and its id. */
export interface HashLeaf {
  readonly section: string;
  readonly id: string;
  /** Null removes the value. */
  readonly digest: string | null;
}

const empty: Bucket = Object.freeze({ digests: new Map<string, string>(), hash: "" });
const emptyPage: Page = Object.freeze({ buckets: Array.from({ length: FAN }, () => empty), hash: "" });

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

export function updateHashTree(tree: HashTree, leaves: Iterable<HashLeaf>): HashTree {
  const touched = new Map<number, Map<string, string>>();
  for (const { section, id, digest } of leaves) {
    const place = byId(id);
    const changed = touched.get(place) ?? new Map(tree[pageOf(place)]?.buckets[place % FAN]?.digests);
    touched.set(place, changed);
    if (digest === null) changed.delete(`${section}/${id}`);
    else changed.set(`${section}/${id}`, digest);
  }
  const next = tree.slice();
  for (const [page, places] of Map.groupBy(touched.keys(), pageOf)) {
    const buckets = (tree[page] ?? emptyPage).buckets.slice();
    for (const place of places) {
      const changed = touched.get(place) ?? empty.digests;
      buckets[place % FAN] = { digests: changed, hash: hashBucket(changed) };
    }
    next[page] = { buckets, hash: hashPage(buckets) };
  }
  return touched.size === 0 ? tree : next;
}

export const hashOfTree = (tree: HashTree): string => hashAll(tree);

/**
 * The hashes of all buckets. Workers keep these instead of the tree, because the digests of a hundred thousand entities
 * take too much memory. `byId` returns the bucket of an id.
 */
export type BucketHashes = readonly string[];

export const bucketHashesOf = (tree: HashTree): BucketHashes =>
  tree.flatMap(({ buckets }) => buckets.map((bucket) => bucket.hash));

/** @param content All values of the bucket, by section and id: `routes/<id>`. */
export const bucketHashOf = (content: ReadonlyMap<string, object>): string =>
  hashBucket(new Map([...content].map(([key, value]) => [key, digestOf(value)])));

/** Equals `hashOfTree` of the tree with these buckets. */
export const hashOfBuckets = (hashes: BucketHashes): string =>
  hashAll(
    Array.from({ length: FAN }, (_, page) => ({
      hash: hashPage(hashes.slice(page * FAN, (page + 1) * FAN).map((bucket) => ({ hash: bucket }))),
    })),
  );

/** An emptied page has the same hash as a page that was always empty. */
const hashPage = (buckets: readonly { readonly hash: string }[]): string =>
  buckets.every((bucket) => bucket.hash === "") ? "" : hashAll(buckets);

const hashAll = (parts: readonly { readonly hash: string }[]): string =>
  hash("sha256", parts.map((part) => part.hash).join("\n"));

/** Ids are UUIDs, so their first digits distribute them evenly. */
const pageOf = (place: number): number => Math.floor(place / FAN);

function hashBucket(content: ReadonlyMap<string, string>): string {
  if (content.size === 0) return "";
  const lines = [...content].map(([key, digest]) => `${key} ${digest}`).sort();
  return hash("sha256", lines.join("\n"));
}
