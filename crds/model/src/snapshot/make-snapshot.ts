/** Builds a snapshot and its content hash from maps. */
import { collections, perCollection } from "../entities/index.ts";
import type { Snapshot } from "../snapshot.ts";
import { BucketMap, byId, differences } from "./bucket-map.ts";
import {
  type BucketHashes,
  bucketHashesOf,
  bucketHashOf,
  digestOf,
  emptyHashTree,
  type HashLeaf,
  type HashTree,
  hashOfBuckets,
  hashOfTree,
  updateHashTree,
} from "./hash-tree.ts";

/** The contents of a snapshot without its hash. */
export type SnapshotMaps = Omit<Snapshot, "hash">;

const sections = [...collections, "endpoints"] as const;

/** Kept outside the snapshot, so that the snapshot has no internal members. */
const trees = new WeakMap<Snapshot, HashTree>();

/** The snapshot without entities. */
export const emptySnapshot: Snapshot = register(
  {
    ...perCollection(() => new BucketMap<never>(byId)),
    endpoints: new BucketMap(byId),
  },
  emptyHashTree,
);

/** The snapshot of these maps; `previous` itself when all maps are the same objects. Values must be frozen. */
export function makeSnapshot(previous: Snapshot, maps: SnapshotMaps): Snapshot {
  if (sections.every((section) => maps[section] === previous[section])) return previous;
  return register(maps, updateHashTree(treeOf(previous), difference(previous, maps)));
}

function register(maps: SnapshotMaps, tree: HashTree): Snapshot {
  const snapshot = Object.freeze({ hash: hashOfTree(tree), ...maps });
  trees.set(snapshot, tree);
  return snapshot;
}

/** The tree of a snapshot, computed now if the snapshot was not built by `makeSnapshot`. */
function treeOf(snapshot: Snapshot): HashTree {
  const known = trees.get(snapshot);
  if (known !== undefined) return known;
  const tree = updateHashTree(emptyHashTree, difference(emptySnapshot, snapshot));
  trees.set(snapshot, tree);
  return tree;
}

function difference(from: SnapshotMaps, to: SnapshotMaps): readonly HashLeaf[] {
  return sections.flatMap((section) =>
    differences<object>(from[section], to[section]).map(({ key, after }) => ({
      section,
      id: key,
      digest: after === undefined ? null : digestOf(after),
    })),
  );
}

/** The bucket hashes that `makeSnapshotLean` needs to continue from this snapshot. */
export const hashesOf = (snapshot: Snapshot): BucketHashes => bucketHashesOf(treeOf(snapshot));

/** A snapshot and the hashes of its buckets. */
export interface HashedSnapshot {
  readonly snapshot: Snapshot;
  readonly hashes: BucketHashes;
}

/**
 * Like `makeSnapshot`, but keeps only the hashes of buckets instead of a tree, and recomputes the buckets that differ.
 * For a node that serves many entities and changes few.
 */
export function makeSnapshotLean(
  { snapshot: previous, hashes: before }: HashedSnapshot,
  maps: SnapshotMaps,
): HashedSnapshot {
  const changed = sections.flatMap((section) => differences<object>(previous[section], maps[section]));
  if (changed.length === 0) return { snapshot: previous, hashes: before };
  const hashes = before.slice();
  for (const place of new Set(changed.map(({ key }) => byId(key))))
    hashes[place] = bucketHashOf(contentAt(maps, place));
  return { snapshot: Object.freeze({ hash: hashOfBuckets(hashes), ...maps }), hashes };
}

/** All values in one bucket of the hash tree. */
function contentAt(maps: SnapshotMaps, place: number): ReadonlyMap<string, object> {
  return new Map(
    sections.flatMap((section) =>
      BucketMap.of<object>(maps[section], byId)
        .at(place)
        .map(([id, value]) => [`${section}/${id}`, value] as const),
    ),
  );
}
