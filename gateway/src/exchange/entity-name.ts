/** The id and the name by which output for people shows an entity. */
import type { EntityName } from "@sluice/model";

export interface NamedEntity {
  readonly id: string;
  readonly name?: string | null;
  readonly username?: string | null;
}

/** A consumer's name is its user name. */
export const idAndNameOf = (entity: NamedEntity): EntityName => ({
  id: entity.id,
  name: entity.name ?? entity.username ?? null,
});

/** Whether the entity has this id or name; if null, the filter is off, and the result is true. */
export const matchesIdOrName = (entity: NamedEntity | null, wanted: string | null): boolean =>
  wanted === null || (entity !== null && (entity.id === wanted || idAndNameOf(entity).name === wanted));
