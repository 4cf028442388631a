/** All migrations, in the order in which they run. */
import { base } from "./000-base.ts";
import type { Migration } from "./migration.ts";

export const migrations: readonly Migration[] = [base];

export type { Migration };
