/** Applies writes to the content of a file, for readers and for nodes. Pure. */
import { applyChange, type Checked, type Entity, perCollection, type Snapshot } from "@sluice/model";
import type { Effect, Write, WriteOutcome } from "../store.ts";
import { applyWrite, type PlacedEntity, type Tables } from "../tables/index.ts";
import { type FileTree, nodeKey } from "./tree.ts";

/** The content of a file: its tree, its tables of entities, and the snapshot for nodes. */
export interface FileState {
  readonly tree: FileTree;
  readonly tables: Tables;
  readonly snapshot: Snapshot;
}

/** Applies each batch to the result of the batches before it; a batch with a fault changes nothing. */
export function applyWrites({ tree, ...before }: FileState, batches: readonly (readonly Write[])[]) {
  const outcomes: WriteOutcome[] = [];
  let { tables, snapshot } = before;
  for (const writes of batches) {
    const written = applyWrite(tables, writes);
    if (written.fault) {
      outcomes.push(written);
      continue;
    }
    const { effects } = written;
    // Snapshots have rules that tables do not check.
    const { value, violations } = nextSnapshot(snapshot, tree, effects);
    if (violations) {
      outcomes.push({ fault: { kind: "invalid", violations: violations.map(inEntity) }, index: 0 });
      continue;
    }
    outcomes.push({ effects });
    [tables, snapshot] = [written.tables, value];
  }
  return { outcomes, tables, snapshot };
}

/** The fault with a path inside the entity: without the leading collection and index. */
const inEntity = <Fault extends { readonly path: readonly (string | number)[] }>(fault: Fault): Fault => ({
  ...fault,
  path: fault.path.slice(2),
});

/** The snapshot after the effects; of several effects on one entity, the last one applies. */
function nextSnapshot(snapshot: Snapshot, tree: FileTree, effects: readonly Effect[]): Checked<Snapshot> {
  const last = new Map<string, PlacedEntity & { readonly stays: boolean }>();
  const setLast = (collection: PlacedEntity["collection"], entity: Entity | null, stays: boolean) => {
    if (entity) last.set(nodeKey(collection, entity.id), { collection, entity, stays });
  };
  for (const { collection, before, after, along } of effects) {
    for (const gone of along) setLast(gone.collection, gone.entity, false);
    setLast(collection, after ?? before, after !== null);
  }
  const changed = Map.groupBy(last.values(), ({ collection, stays }) => `${collection} ${stays}`);
  return applyChange(snapshot, {
    put: perCollection((name) => (changed.get(`${name} true`) ?? []).map((placed) => withExtras(tree, placed))),
    remove: perCollection((name) => (changed.get(`${name} false`) ?? []).map(({ entity }) => entity.id)),
  });
}

/** The file's own `_sluice` is not a member of the entity and is preserved. */
function withExtras(tree: FileTree, { collection, entity }: PlacedEntity): Entity {
  const extras = tree.nodes.get(nodeKey(collection, entity.id))?.extras;
  return extras ? Object.assign({}, entity, { _sluice: extras }) : entity;
}
