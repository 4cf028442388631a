/** ETags: the hash of an entity. */
import { createHash } from "node:crypto";
import { canonicalJson, type Entity } from "@sluice/model";

/** Sixteen hexadecimal digits; equal entities have the same ETag in every store. */
export const etagOf = (entity: Entity): string =>
  createHash("sha256").update(canonicalJson(entity)).digest("hex").slice(0, 16);
