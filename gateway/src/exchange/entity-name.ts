import type { EntityName } from "@sluice/model";

/** A consumer's name is its user name. */
export const nameOf = (entity: {
  readonly id: string;
  readonly name?: string | null;
  readonly username?: string | null;
}): EntityName => ({ id: entity.id, name: entity.name ?? entity.username ?? null });
