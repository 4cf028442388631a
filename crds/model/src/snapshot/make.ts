/** Putting maps together into a snapshot, and the hash that goes with it. */
import { collections } from "../entities/index.ts";
import { perCollection } from "../entities/per-collection.ts";
import type { Snapshot } from "../snapshot.ts";
import { BucketMap, byId, differences } from "./bucket-map.ts";
import {
  type BucketHashes,
  bucketHashesOf,
  bucketHashOf,
  digestOf,
  emptyTree,
  type HashTree,
  type Leaf,
  rootOf,
  rootOfBuckets,
  updateTree,
} from "./hash.ts";

/** What a snapshot holds, beside its hash. */
export type Maps = Omit<Snapshot, "hash">;

const sections = [...collections, "endpoints"] as const;

/** Kept beside the snapshot, so that a snapshot stays what its readers see. */
const trees = new WeakMap<Snapshot, HashTree>();

/** The snapshot that has nothing in it. */
export const emptySnapshot: Snapshot = register(
  {
    ...perCollection(() => new BucketMap<never>(byId)),
    endpoints: new BucketMap(byId),
  },
  emptyTree,
);

/** The snapshot of these maps; the previous one itself when they are all its own. Values must be frozen. */
export function makeSnapshot(previous: Snapshot, maps: Maps): Snapshot {
  if (sections.every((section) => maps[section] === previous[section])) return previous;
  return register(maps, updateTree(treeOf(previous), difference(previous, maps)));
}

function register(maps: Maps, tree: HashTree): Snapshot {
  const snapshot = Object.freeze({ hash: rootOf(tree), ...maps });
  trees.set(snapshot, tree);
  return snapshot;
}

/** A snapshot that was not made here has no tree yet. */
function treeOf(snapshot: Snapshot): HashTree {
  const known = trees.get(snapshot);
  if (known !== undefined) return known;
  const tree = updateTree(emptyTree, difference(emptySnapshot, snapshot));
  trees.set(snapshot, tree);
  return tree;
}

function difference(from: Maps, to: Maps): readonly Leaf[] {
  return sections.flatMap((section) =>
    differences<object>(from[section], to[section]).map(({ key, after }) => ({
      section,
      id: key,
      digest: after === undefined ? null : digestOf(after),
    })),
  );
}

/** For `makeSnapshotLean` after this snapshot. */
export const hashesOf = (snapshot: Snapshot): BucketHashes => bucketHashesOf(treeOf(snapshot));

/** A snapshot and the hashes of its buckets. */
export interface HashedSnapshot {
  readonly snapshot: Snapshot;
  readonly hashes: BucketHashes;
}

/**
 * The same as `makeSnapshot`, without a tree: it costs the buckets that differ, and keeps nothing but their hashes. For a
 * node that serves many entities and changes few.
 */
export function makeSnapshotLean({ snapshot: previous, hashes: before }: HashedSnapshot, maps: Maps): HashedSnapshot {
  const changed = sections.flatMap((section) => differences<object>(previous[section], maps[section]));
  if (changed.length === 0) return { snapshot: previous, hashes: before };
  const hashes = before.slice();
  for (const place of new Set(changed.map(({ key }) => byId(key))))
    hashes[place] = bucketHashOf(contentAt(maps, place));
  return { snapshot: Object.freeze({ hash: rootOfBuckets(hashes), ...maps }), hashes };
}

/** All that a bucket of the hash tree holds. */
function contentAt(maps: Maps, place: number): ReadonlyMap<string, object> {
  return new Map(
    sections.flatMap((section) =>
      BucketMap.of<object>(maps[section], byId)
        .at(place)
        .map(([id, value]) => [`${section}/${id}`, value] as const),
    ),
  );
}
