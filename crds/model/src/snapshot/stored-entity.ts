/** Entities as a snapshot stores them: frozen, and credentials with the hash of their key instead of the key. */
import { hash } from "node:crypto";
import type { Violation } from "@sluice/plugin-sdk";
import type { Collection } from "../entities/index.ts";

/** Any entity of a snapshot, as a record of its members. */
export type StoredEntity = Readonly<Record<string, unknown>> & { readonly id: string };

/** An entity that a change adds or replaces, and its path in the change. */
export interface EntityPut {
  readonly path: Violation["path"];
  readonly entity: StoredEntity;
}

export function toStoredEntity(collection: Collection, { _sluice: extras, ...entity }: StoredEntity): StoredEntity {
  const held = Object.keys(extras ?? {}).length === 0 ? entity : { ...entity, _sluice: extras };
  return freezeDeep(collection === "keyauth_credentials" ? hashKey(held) : held);
}

/** Nodes get the SHA-256 of keys, never keys. */
function hashKey(credential: StoredEntity): StoredEntity {
  if (typeof credential.key !== "string") return credential;
  const extras = credential._sluice as object | undefined;
  return { ...credential, key: null, _sluice: { ...extras, key_hash: hash("sha256", credential.key) } };
}

export const referencedId = (entity: object, member: string): string | undefined =>
  (entity as Readonly<Record<string, { readonly id: string } | null | undefined>>)[member]?.id;

/** Freezes plain data at all depths, in place. Values that are passed between stages are frozen. */
export function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) freezeDeep(member);
  return Object.freeze(value);
}
