/** The operations of one collection's endpoints. */
import type { Entity } from "@sluice/model";
import type { RawMembers } from "../../http/decode-body.ts";
import type { AdminResponse, EntityReader, EntityRequest, PreparedWrite } from "../../requests.ts";

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
