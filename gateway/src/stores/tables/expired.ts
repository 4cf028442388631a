/** Keys whose time is over: they are not there any more, though nobody has removed them yet. */
import { type Collection, type Credential, type Entity, hasEnded } from "@sluice/model";

/**
 * As the nodes count it.
 *
 * @param now Milliseconds.
 */
export function isExpired(collection: Collection, entity: Entity, now: number): boolean {
  if (collection !== "keyauth_credentials") return false;
  return hasEnded(entity as Credential, now);
}
