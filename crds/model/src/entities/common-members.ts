/** Members that several entities have. */
import { integer, nullable, set, text } from "@sluice/plugin-sdk";

/** The schema of an entity's id. Its description names the source from which an unset id is derived. */
export const idMember = (source: string) =>
  text({ description: `The entity's UUID. If unset, it is derived (UUIDv5) from ${source}.`, rule: "uuid" });

export const created_at = integer({ description: "When the entity was created, Unix time in seconds." });

export const updated_at = integer({ description: "When the entity was last changed, Unix time in seconds." });

export const tagsMember = nullable(
  set(text({ description: "Printable characters except , and /", rule: "tag", minLength: 1, maxLength: 128 }), {
    description: "Tags for grouping and filtering entities.",
    maxItems: 64,
  }),
);

export const nameMember = (kind: string) =>
  nullable(text({ description: `A unique name for the ${kind}.`, rule: "name", minLength: 1, maxLength: 256 }));

export const MAX_TIMEOUT = 2 ** 31 - 2;
