/** Entities as a snapshot stores them: frozen, with hashes for secret lookup values and basic-auth passwords. */
import type { Violation } from "@sluice/plugin-sdk";
import { documentPassword } from "../entities/credentials/basic-auth.ts";
import { type Collection, entities, isSecretLookup, lookupHash } from "../entities/index.ts";

/** Any entity of a snapshot, as a record of its members. */
export type StoredEntity = Readonly<Record<string, unknown>> & { readonly id: string };

/** An entity that a change adds or replaces, and its path in the change. */
export interface EntityPut {
  readonly path: Violation["path"];
  readonly entity: StoredEntity;
}

export function toStoredEntity(collection: Collection, { _sluice: extras, ...entity }: StoredEntity): StoredEntity {
  const held = Object.keys(extras ?? {}).length === 0 ? entity : { ...entity, _sluice: extras };
  if (isSecretLookup(collection)) return freezeDeep(hashSecret(collection, held));
  return freezeDeep(collection === "basicauth_credentials" ? hashPassword(held) : held);
}

/**
 * The credential with a SHA-256 (`lookupHash`) in place of the secret by which requests identify it. A pushed document
 * is made from this form, so it never contains the secret.
 */
function hashSecret(collection: Collection, credential: StoredEntity): StoredEntity {
  const lookup = entities[collection].credential?.lookup ?? "";
  const secret = credential[lookup];
  if (typeof secret !== "string") return credential;
  const extras = credential._sluice as object | undefined;
  return { ...credential, [lookup]: null, _sluice: { ...extras, key_hash: lookupHash(secret, credential.plugin) } };
}

function hashPassword(credential: StoredEntity): StoredEntity {
  const password = documentPassword(referencedId(credential, "consumer") ?? "", String(credential.password));
  return { ...credential, password };
}

export const referencedId = (entity: object, member: string): string | undefined =>
  (entity as Readonly<Record<string, { readonly id: string } | null | undefined>>)[member]?.id;

/** Freezes plain data at all depths, in place. Values that are passed between stages are frozen. */
export function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) freezeDeep(member);
  return Object.freeze(value);
}
