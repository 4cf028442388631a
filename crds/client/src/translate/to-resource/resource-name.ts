/** metadata.name of a resource that is made from an entity. */
import { createHash } from "node:crypto";

/** With hyphen and hash this stays within 63 characters, the shortest limit that Kubernetes has for names. */
const MAX_SLUG = 48;
const HASH_LENGTH = 10;

/**
 * A readable part and a hash of the whole name: two entities with one name meet in one resource name, so that
 * creating the second fails, and names that differ only in what a slug leaves out do not meet.
 *
 * @param name The entity's name, or its id when it has none.
 * @param readable What the readable part is made of; the name by default.
 */
export function resourceName(name: string, readable: string = name): string {
  const slug = readable
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_SLUG)
    .replace(/^-+|-+$/g, "");
  const hash = createHash("sha256").update(name, "utf8").digest("hex").slice(0, HASH_LENGTH);
  return slug === "" ? `x-${hash}` : `${slug}-${hash}`;
}
