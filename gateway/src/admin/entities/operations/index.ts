/** Derives the operations of a collection: one handler per operation, for all collections. */
import { etagOf } from "../../../stores/etag.ts";
import { changeEntity } from "./change.ts";
import { createEntity } from "./create.ts";
import type { EntityOperations } from "./entity-operations.ts";
import { listEntities, showEntity } from "./read.ts";
import { removeEntity } from "./remove.ts";
import { upsertEntity } from "./upsert.ts";

/** The operations of a collection; `special` replaces some of them. */
export function deriveOperations(
  special: (derived: EntityOperations) => Partial<EntityOperations> = () => ({}),
): EntityOperations {
  const derived: EntityOperations = {
    list: (call) => listEntities(operations, call),
    show: (call) => showEntity(operations, call),
    create: (call) => createEntity(operations, call),
    upsert: (call) => upsertEntity(operations, call),
    change: (call) => changeEntity(operations, call),
    remove: (call) => removeEntity(operations, call),
    present: async (entity) => entity,
    tag: (entity) => etagOf(entity),
    prepare: (raw) => raw,
  };
  const operations: EntityOperations = { ...derived, ...special(derived) };
  return operations;
}
