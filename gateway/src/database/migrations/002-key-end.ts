import { writeAllFunction } from "./base-write.ts";
import type { Migration } from "./migration.ts";

/**
 * `created_at` is truncated to whole seconds, so a key must end one second later than `created_at + ttl` to live for
 * its full `ttl`.
 */
export const keyEnd: Migration = {
  name: "002_key_end",
  up: writeAllFunction("create or replace", "created_at + ttl <= extract(epoch from clock_timestamp()) - 1"),
};
