/** Keys whose time is over: they are not there any more, though nobody has removed them yet. */
import type { Collection, Credential, Entity } from "@sluice/model";

/**
 * As the nodes count it.
 *
 * @param now Milliseconds.
 */
export function isExpired(collection: Collection, entity: Entity, now: number): boolean {
  if (collection !== "keyauth_credentials") return false;
  const { ttl, created_at } = entity as Credential;
  return ttl !== null && (created_at + ttl) * 1000 <= now;
}
