/** What can be done at an endpoint: one handler for each operation, for all collections (kong-contract 1.1). */
import type { Entity } from "@sluice/model";
import { etagOf } from "../../stores/etag.ts";
import type { Raw } from "../body.ts";
import type { Answer, Call, Reader, Step } from "../call.ts";
import { change } from "./change.ts";
import { create } from "./create.ts";
import { list, show } from "./read.ts";
import { remove } from "./remove.ts";
import { upsert } from "./upsert.ts";

export interface Operations {
  list(call: Call): Promise<Answer>;
  show(call: Call): Promise<Answer>;
  create(call: Call): Promise<Step>;
  upsert(call: Call): Promise<Step>;
  change(call: Call): Promise<Step>;
  remove(call: Call): Promise<Step>;
  /** The entity as clients see it. */
  present(entity: Entity, store: Reader): Promise<object>;
  /** Of the entity as it is and as it is shown. */
  tag(entity: Entity, shown: object): string;
  /** What a body says before it is checked. */
  prepare(raw: Raw, how: Preparing): Raw;
}

export interface Preparing {
  /** The entity that the body changes or replaces. */
  readonly before: Entity | null;
  /** Members that the body leaves out stay as they are. */
  readonly keeps: boolean;
}

/** The operations of a collection, with `special` in place of what it does differently. */
export function deriveOperations(special: (derived: Operations) => Partial<Operations> = () => ({})): Operations {
  const derived: Operations = {
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
  const operations: Operations = { ...derived, ...special(derived) };
  return operations;
}
