import { baseChanges } from "./base-changes.ts";
import { baseCounters } from "./base-counters.ts";
import { baseTables } from "./base-tables.ts";
import { baseWrite } from "./base-write.ts";
import type { Migration } from "./migration.ts";

export const base: Migration = {
  name: "000_base",
  up: [baseTables, baseChanges, baseWrite, baseCounters].join("\n"),
};
