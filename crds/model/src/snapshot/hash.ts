/**
 * The content hash of a snapshot, kept incrementally: SHA-256 over 64 pages, each over 64 buckets, each over its
 * entities' digests in the order of their keys. A change costs the buckets that it touches, not the whole.
 */
import { hash } from "node:crypto";
import { canonical } from "../ids.ts";
import { byId } from "./bucket-map.ts";

/** In a page, and pages in the tree. */
const FAN = 64;

interface Bucket {
  readonly digests: ReadonlyMap<string, string>;
  readonly hash: string;
}

interface Page {
  readonly buckets: readonly Bucket[];
  readonly hash: string;
}

/** Immutable; what a change does not touch is shared. */
export type HashTree = readonly Page[];

/** The place of one value in the tree: its section (a collection, or endpoints) and its id. */
export interface Leaf {
  readonly section: string;
  readonly id: string;
  /** Null takes the value out. */
  readonly digest: string | null;
}

const empty: Bucket = Object.freeze({ digests: new Map<string, string>(), hash: "" });
const emptyPage: Page = Object.freeze({ buckets: Array.from({ length: FAN }, () => empty), hash: "" });

export const emptyTree: HashTree = Object.freeze(Array.from({ length: FAN }, () => emptyPage));

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

export const rootOf = (tree: HashTree): string => hashAll(tree);

/**
 * The hashes of all buckets: what is kept of a tree where the digests of a hundred thousand entities would take too much
 * memory. `byId` names the bucket of an id.
 */
export type BucketHashes = readonly string[];

export const bucketHashesOf = (tree: HashTree): BucketHashes =>
  tree.flatMap(({ buckets }) => buckets.map((bucket) => bucket.hash));

/** @param content All values of the bucket, by section and id: `routes/<id>`. */
export const bucketHashOf = (content: ReadonlyMap<string, object>): string =>
  hashBucket(new Map([...content].map(([key, value]) => [key, digestOf(value)])));

/** What `rootOf` says of the tree that has these buckets. */
export const rootOfBuckets = (hashes: BucketHashes): string =>
  hashAll(
    Array.from({ length: FAN }, (_, page) => ({
      hash: hashPage(hashes.slice(page * FAN, (page + 1) * FAN).map((bucket) => ({ hash: bucket }))),
    })),
  );

/** A page of which everything was taken out has the hash of one that never had anything. */
const hashPage = (buckets: readonly { readonly hash: string }[]): string =>
  buckets.every((bucket) => bucket.hash === "") ? "" : hashAll(buckets);

const hashAll = (parts: readonly { readonly hash: string }[]): string =>
  hash("sha256", parts.map((part) => part.hash).join("\n"));

/** Ids are UUIDs, so their first digits spread them. */
const pageOf = (place: number): number => Math.floor(place / FAN);

function hashBucket(content: ReadonlyMap<string, string>): string {
  if (content.size === 0) return "";
  const lines = [...content].map(([key, digest]) => `${key} ${digest}`).sort();
  return hash("sha256", lines.join("\n"));
}
