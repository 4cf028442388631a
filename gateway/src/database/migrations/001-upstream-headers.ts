import type { Migration } from "./migration.ts";

export const upstreamHeaders: Migration = {
  name: "001_upstream_headers",
  up: "alter table services add column upstream_headers jsonb;",
};
