/** Snapshots: how one follows from another, and their hash. */
export { adoptChange, adoptEdit, type CheckedEdit } from "./adopt.ts";
export { applyChange, applyDocument } from "./apply.ts";
export { BucketMap, byHash, byId, type Difference, differences } from "./bucket-map.ts";
export { changeBetween, documentToChange, snapshotToDocument } from "./change.ts";
export { checkChange, checkFlatDocument } from "./check-outline.ts";
export { type BucketHashes, digestOf } from "./hash-tree.ts";
export { emptySnapshot, type HashedSnapshot, hashesOf } from "./make-snapshot.ts";
