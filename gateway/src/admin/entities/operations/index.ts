/** Derives the operations of a collection: one handler per operation, for all collections. */
import { etagOf } from "../../../stores/etag.ts";
import { change } from "./change.ts";
import { create } from "./create.ts";
import type { EntityOperations } from "./entity-operations.ts";
import { list, show } from "./read.ts";
import { remove } from "./remove.ts";
import { upsert } from "./upsert.ts";

/** The operations of a collection; `special` replaces some of them. */
export function deriveOperations(
  special: (derived: EntityOperations) => Partial<EntityOperations> = () => ({}),
): EntityOperations {
  const derived: EntityOperations = {
    list: (call) => list(operations, call),
    show: (call) => show(operations, call),
    create: (call) => create(operations, call),
    upsert: (call) => upsert(operations, call),
    change: (call) => change(operations, call),
    remove: (call) => remove(operations, call),
    present: async (entity) => entity,
    tag: (entity) => etagOf(entity),
    prepare: (raw) => raw,
  };
  const operations: EntityOperations = { ...derived, ...special(derived) };
  return operations;
}
