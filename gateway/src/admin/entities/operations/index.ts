/** The operations of an endpoint: one handler per operation, for all collections. */
import type { Entity } from "@sluice/model";
import { etagOf } from "../../../stores/etag.ts";
import type { RawMembers } from "../../http/decode-body.ts";
import type { AdminResponse, EntityReader, EntityRequest, PreparedWrite } from "../../requests.ts";
import { change } from "./change.ts";
import { create } from "./create.ts";
import { list, show } from "./read.ts";
import { remove } from "./remove.ts";
import { upsert } from "./upsert.ts";

export interface EntityOperations {
  list(call: EntityRequest): Promise<AdminResponse>;
  show(call: EntityRequest): Promise<AdminResponse>;
  create(call: EntityRequest): Promise<PreparedWrite>;
  upsert(call: EntityRequest): Promise<PreparedWrite>;
  change(call: EntityRequest): Promise<PreparedWrite>;
  remove(call: EntityRequest): Promise<PreparedWrite>;
  /** The entity in the form for clients. */
  present(entity: Entity, store: EntityReader): Promise<object>;
  /** The ETag, from the entity and its shown form. */
  tag(entity: Entity, shown: object): string;
  /** Adjusts a body before it is checked. */
  prepare(raw: RawMembers, how: PrepareOptions): RawMembers;
}

export interface PrepareOptions {
  /** The entity to change or replace. */
  readonly before: Entity | null;
  /** Members that the body leaves out stay as they are. */
  readonly isPartial: boolean;
}

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
