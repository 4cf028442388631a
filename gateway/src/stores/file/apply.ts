/** Applies writes to the content of a file, for readers and for nodes. Pure. */
import { applyChange, type Change, type Checked, collections, type Entity, type Snapshot } from "@sluice/model";
import type { Effect, Write, WriteOutcome } from "../store.ts";
import { type PlacedEntity, type Tables, write } from "../tables/index.ts";
import { type FileTree, nodeKey } from "./tree.ts";

/** The content of a file: its tree, its tables of entities, and the snapshot for nodes. */
export interface FileState {
  readonly tree: FileTree;
  readonly tables: Tables;
  readonly snapshot: Snapshot;
}

export interface AppliedWrites {
  readonly outcomes: readonly WriteOutcome[];
  readonly tables: Tables;
  readonly snapshot: Snapshot;
}

/** Each batch sees the ones before it; a batch with a fault changes nothing. */
export function applyWrites(
  { tables, snapshot, tree }: FileState,
  batches: readonly (readonly Write[])[],
): AppliedWrites {
  const together = inTables(tables, batches);
  const next = nextSnapshot(snapshot, tree, effectsOf(together.outcomes));
  if (next.value) return { ...together, snapshot: next.value };
  // Snapshots have rules that tables do not check. Applying one by one finds the write that violates them.
  const done: { outcomes: WriteOutcome[]; tables: Tables; snapshot: Snapshot } = { outcomes: [], tables, snapshot };
  for (const batch of batches) {
    const one = inTables(done.tables, [batch]);
    const { value, violations } = nextSnapshot(done.snapshot, tree, effectsOf(one.outcomes));
    if (violations) done.outcomes.push({ fault: { kind: "invalid", violations: violations.map(inEntity) }, index: 0 });
    else {
      done.outcomes.push(...one.outcomes);
      done.tables = one.tables;
      done.snapshot = value;
    }
  }
  return done;
}

function inTables(before: Tables, batches: readonly (readonly Write[])[]) {
  const outcomes: WriteOutcome[] = [];
  let tables = before;
  for (const writes of batches) {
    const written = write(tables, writes);
    if (written.tables) tables = written.tables;
    outcomes.push(written.tables ? { effects: written.effects } : written);
  }
  return { outcomes, tables };
}

const effectsOf = (outcomes: readonly WriteOutcome[]) => outcomes.flatMap(({ effects = [] }) => effects);

/** Without the leading collection and index. */
const inEntity = <Fault extends { readonly path: readonly (string | number)[] }>(fault: Fault): Fault => ({
  ...fault,
  path: fault.path.slice(2),
});

/** The snapshot after the effects; of several effects on one entity, the last one counts. */
function nextSnapshot(snapshot: Snapshot, tree: FileTree, effects: readonly Effect[]): Checked<Snapshot> {
  const last = new Map<string, { readonly placed: PlacedEntity; readonly stays: boolean }>();
  const note = (placed: PlacedEntity, stays: boolean) => {
    last.set(nodeKey(placed.collection, placed.entity.id), { placed, stays });
  };
  for (const { collection, before, after, along } of effects) {
    for (const placed of along) note(placed, false);
    const entity = after ?? before;
    if (entity) note({ collection, entity }, after !== null);
  }
  const of = (stays: boolean) => [...last.values()].flatMap((one) => (one.stays === stays ? one.placed : []));
  const [stay, go] = [of(true), of(false)];
  const change: Change = {
    put: inCollections(stay, (placed) => withExtras(tree, placed)),
    remove: inCollections(go, ({ entity }) => entity.id),
  };
  return applyChange(snapshot, change);
}

const inCollections = <Value>(placed: readonly PlacedEntity[], value: (one: PlacedEntity) => Value) =>
  Object.fromEntries(
    collections.map((name) => [name, placed.filter(({ collection }) => collection === name).map(value)]),
  );

/** The file's own `_sluice` is not a member of the entity and is preserved. */
function withExtras(tree: FileTree, { collection, entity }: PlacedEntity): Entity {
  const extras = tree.nodes.get(nodeKey(collection, entity.id))?.extras;
  return extras ? Object.assign({}, entity, { _sluice: extras }) : entity;
}
