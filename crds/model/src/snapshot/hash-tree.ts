/**
 * The content hash of a snapshot, updated incrementally. It is the SHA-256 of the hashes of 64 pages. The hash of a
 * page is computed from the hashes of its 64 buckets, the hash of a bucket from the hashes of its sections (the
 * collections, the endpoints and the listeners), and the hash of a section from the ids and digests of its values, in the order of the
 * ids. A change rehashes only the sections of the buckets that it touches. The tree does not keep the digests: those of
 * a hundred thousand entities would need too much memory. Empty sections do not count, so a version of Sluice with a
 * further collection computes the same hash.
 */
import { hash } from "node:crypto";
import type { Section } from "./compact.ts";

/** Buckets in a page, and pages in the tree. */
const FAN = 64;

interface HashBucket {
  /** Hashes by section; sections without values are omitted. */
  readonly sections: Readonly<Record<string, string>>;
  /** "" for an empty bucket. */
  readonly hash: string;
}

/** The hash of a page without values is "". */
interface HashPage {
  readonly buckets: readonly HashBucket[];
  readonly hash: string;
}

/** Plain data; unchanged pages are shared between trees. `byId` returns the bucket of an id. */
export type HashTree = readonly HashPage[];

const emptyBucket: HashBucket = Object.freeze({ sections: Object.freeze({}), hash: "" });
const emptyPage: HashPage = Object.freeze({ buckets: Array.from({ length: FAN }, () => emptyBucket), hash: "" });

export const emptyHashTree: HashTree = Object.freeze(Array.from({ length: FAN }, () => emptyPage));

/** A section of a bucket. */
export interface HashPlace {
  readonly section: Section;
  readonly bucket: number;
}

/**
 * The tree after a change of the values in the touched places.
 *
 * @param linesOf A line for each value in a place after the change, in the order of ids: the id and the value's digest.
 */
export function updateHashTree(
  tree: HashTree,
  touched: readonly HashPlace[],
  linesOf: (place: HashPlace) => readonly string[],
): HashTree {
  const next = tree.slice();
  for (const [page, places] of Map.groupBy(touched, ({ bucket }) => Math.floor(bucket / FAN))) {
    const buckets = (tree[page] ?? emptyPage).buckets.slice();
    for (const [index, inBucket] of Map.groupBy(places, ({ bucket }) => bucket % FAN)) {
      const changed = inBucket.map((place) => [place.section, hashAll(linesOf(place))] as const);
      buckets[index] = bucketOf({ ...buckets[index]?.sections, ...Object.fromEntries(changed) });
    }
    next[page] = { buckets, hash: buckets.every((bucket) => bucket.hash === "") ? "" : hashAll(buckets.map(hashOf)) };
  }
  return next;
}

function bucketOf(hashes: Readonly<Record<string, string>>): HashBucket {
  const sections = Object.entries(hashes).filter(([, sectionHash]) => sectionHash !== "");
  if (sections.length === 0) return emptyBucket;
  const lines = sections.map(([section, sectionHash]) => `${section} ${sectionHash}`).sort();
  return { sections: Object.fromEntries(sections), hash: hashAll(lines) };
}

export const hashOfTree = (tree: HashTree): string => hashAll(tree.map(hashOf));

export const differingBuckets = (one: HashTree, other: HashTree): ReadonlySet<number> =>
  new Set(
    one.flatMap(({ buckets }, page) =>
      buckets.flatMap((bucket, index) =>
        bucket.hash === other[page]?.buckets[index]?.hash ? [] : [page * FAN + index],
      ),
    ),
  );

const hashOf = ({ hash: known }: { readonly hash: string }): string => known;

/** The SHA-256 of the lines; "" for an empty list. */
const hashAll = (lines: readonly string[]): string => (lines.length === 0 ? "" : hash("sha256", lines.join("\n")));
