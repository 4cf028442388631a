import { writeAll } from "./base-write.ts";
import type { Migration } from "./migration.ts";

/** `created_at` is cut to whole seconds, so a key has had its whole `ttl` only a second after their sum. */
export const keyEnd: Migration = {
  name: "002_key_end",
  up: writeAll("create or replace", "created_at + ttl <= extract(epoch from clock_timestamp()) - 1"),
};
