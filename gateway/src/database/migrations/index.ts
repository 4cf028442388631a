/** All migrations in order of execution. */
import { base } from "./000-base.ts";
import { upstreamHeadersMigration } from "./001-upstream-headers.ts";
import { keyEnd } from "./002-key-end.ts";
import type { Migration } from "./migration.ts";

export const migrations: readonly Migration[] = [base, upstreamHeadersMigration, keyEnd];

export type { Migration };
