import type { Migration } from "./migration.ts";

export const upstreamHeadersMigration: Migration = {
  name: "001_upstream_headers",
  up: "alter table services add column upstream_headers jsonb;",
};
