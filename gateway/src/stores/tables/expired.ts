/** Expired keys: they count as removed, though they are still stored. */
import { type Collection, type Credential, type Entity, hasExpired } from "@sluice/model";

/**
 * By the same rule as in the nodes.
 *
 * @param now Milliseconds.
 */
export function isExpired(collection: Collection, entity: Entity, now: number): boolean {
  if (collection !== "keyauth_credentials") return false;
  return hasExpired(entity as Credential, now);
}
