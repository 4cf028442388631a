/** Entities as a snapshot holds them: frozen, with their references, and credentials without their keys. */
import { hash } from "node:crypto";
import type { Collection } from "../entities/index.ts";
import type { Violation } from "../violation.ts";
import { freezeDeep } from "./freeze.ts";

/** Any entity of a snapshot, seen as its members. */
export type Held = Readonly<Record<string, unknown>> & { readonly id: string };

/** An entity that a change puts, and where in the change it stands. */
export interface Put {
  readonly path: Violation["path"];
  readonly entity: Held;
}

/** The form in which a checked entity is kept. */
export function hold(collection: Collection, { _sluice: extras, ...entity }: Held): Held {
  const held = Object.keys(extras ?? {}).length === 0 ? entity : { ...entity, _sluice: extras };
  return freezeDeep(collection === "keyauth_credentials" ? hideKey(held) : held);
}

/** Nodes get the SHA-256 of keys, never keys. */
function hideKey(credential: Held): Held {
  if (typeof credential.key !== "string") return credential;
  const extras = credential._sluice as object | undefined;
  return { ...credential, key: null, _sluice: { ...extras, key_hash: hash("sha256", credential.key) } };
}

/** The id that a member of an entity refers to. */
export function referred(entity: Held, member: string): string | undefined {
  return (entity[member] as { readonly id: string } | null | undefined)?.id;
}
