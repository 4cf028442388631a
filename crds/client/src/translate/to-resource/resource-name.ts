/** metadata.name of a resource created from an entity. */
import { createHash } from "node:crypto";

/** With hyphen and hash this stays within 63 characters, the shortest Kubernetes limit for names. */
const MAX_SLUG = 48;
const HASH_LENGTH = 10;

/**
 * A readable slug and a hash of the full name. Two entities of the same name get the same resource name, so that
 * creating the second fails; names that differ only in characters a slug omits get different ones.
 *
 * @param name The entity's name, or its id when it has none.
 * @param readable The source of the slug; the name by default.
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
