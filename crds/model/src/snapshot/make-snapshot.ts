/** Builds a snapshot and its content hash from maps. */
import { type EndpointSection, endpointSections, perEndpointSection } from "../document.ts";
import { collections, perCollection } from "../entities/index.ts";
import type { Snapshot } from "../snapshot.ts";
import { BucketMap, bucketDifferences, type Difference, hashOfId, hashOfText, type KeyHash } from "./bucket-map.ts";
import { digestOf, type Section } from "./compact.ts";
import { emptyHashTree, type HashTree, hashOfTree, updateHashTree } from "./hash-tree.ts";

export type SnapshotMaps = Omit<Snapshot, "hash">;

const sections: readonly Section[] = [
  ...collections,
  ...(Object.keys(endpointSections) as EndpointSection[]),
  "listeners",
];

/** The keys of listeners are names; all other keys are ids. */
const keyHashOf = (section: Section): KeyHash => (section === "listeners" ? hashOfText : hashOfId);

/** The hash trees of snapshots, kept outside the snapshots, so that these have no internal members. */
const trees = new WeakMap<Snapshot, HashTree>();

export const emptySnapshot: Snapshot = snapshotFromMaps(
  {
    ...perCollection(() => new BucketMap<never>(hashOfId)),
    ...perEndpointSection(() => new BucketMap<never>(hashOfId)),
    listeners: new BucketMap<never>(hashOfText),
  },
  emptyHashTree,
);

/** The differences in one section. */
export interface SectionDifferences {
  readonly section: Section;
  readonly differences: readonly Difference<object>[];
}

/** The differences by section, without the sections whose maps are the same objects. */
export const sectionDifferences = (from: SnapshotMaps, to: SnapshotMaps): readonly SectionDifferences[] =>
  sections.flatMap((section) =>
    from[section] === to[section]
      ? []
      : [{ section, differences: bucketDifferences<object>(from[section], to[section]) }],
  );

/** The snapshot of these maps; `previous` itself when nothing differs. Values must be frozen. */
export function makeSnapshot(
  previous: Snapshot,
  maps: SnapshotMaps,
  differing: readonly SectionDifferences[] = sectionDifferences(previous, maps),
): Snapshot {
  return differing.length === 0 ? previous : snapshotFromMaps(maps, treeAfter(hashTreeOf(previous), differing, maps));
}

/** Makes the snapshot of these maps from a tree that was already computed. */
export function snapshotFromMaps(maps: SnapshotMaps, tree: HashTree): Snapshot {
  const snapshot = Object.freeze({ hash: hashOfTree(tree), ...maps });
  trees.set(snapshot, tree);
  return snapshot;
}

/** The tree of a snapshot. Computed on demand if the snapshot was made with its hash only. */
export function hashTreeOf(snapshot: Snapshot): HashTree {
  const known = trees.get(snapshot);
  if (known !== undefined) return known;
  const tree = treeAfter(emptyHashTree, sectionDifferences(emptySnapshot, snapshot), snapshot);
  trees.set(snapshot, tree);
  return tree;
}

function treeAfter(tree: HashTree, differing: readonly SectionDifferences[], to: SnapshotMaps): HashTree {
  const touched = differing.flatMap(({ section, differences }) =>
    [...new Set(differences.map(({ key }) => keyHashOf(section)(key)))].map((bucket) => ({ section, bucket })),
  );
  return updateHashTree(tree, touched, ({ section, bucket }) => {
    const values = BucketMap.of<object>(to[section], keyHashOf(section)).at(bucket);
    const lines = Array.from(values, ([key, value]) => `${key} ${digestOf(section, value)}`);
    return section === "listeners" ? lines.sort() : lines;
  });
}
