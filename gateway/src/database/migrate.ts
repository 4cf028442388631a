/** Migrates the tables of a database to this version, in the two phases of Kong's migrations. */
import { setTimeout as sleep } from "node:timers/promises";
import { collections } from "@sluice/model";
import { type Database, type DatabaseConnection, isRetryable } from "./driver.ts";
import { migrations as all, type Migration } from "./migrations/index.ts";

export interface MigrationState {
  /** Whether the database has no tables of Sluice. */
  readonly needsBootstrap: boolean;
  readonly executed: readonly string[];
  /** The migrations for which `upgradeTables` has run, and `finishUpgrade` has not. */
  readonly pending: readonly string[];
  /** The migrations of which neither phase has run. */
  readonly available: readonly string[];
}

/** The result of a step, or the error that prevented the step. */
export type MigrationResult =
  | { readonly ran: readonly string[]; readonly state: MigrationState; readonly fault?: undefined }
  | { readonly fault: "needs bootstrap" | "pending"; readonly ran?: undefined; readonly state?: undefined };

/** The key of the advisory lock: an arbitrary number, which no other program should use in the same database. */
const LOCK = 7_582_340;

export async function readMigrationState(connection: DatabaseConnection, migrations = all): Promise<MigrationState> {
  const [there] = await connection.query("select to_regclass('migrations') is not null as there");
  const rows = there?.there ? await connection.query("select name, pending from migrations order by name") : [];
  const names = (pending: boolean) => rows.filter((row) => row.pending === pending).map(({ name }) => String(name));
  const known = new Set(rows.map(({ name }) => name));
  return {
    needsBootstrap: rows.length === 0,
    executed: names(false),
    pending: names(true),
    available: migrations.map(({ name }) => name).filter((name) => !known.has(name)),
  };
}

/** Creates the tables in an empty database; `ran` is empty when they exist. */
export const bootstrapTables = (database: Database, migrations = all): Promise<MigrationResult> =>
  alone(database, async (connection) => {
    const before = await readMigrationState(connection, migrations);
    if (!before.needsBootstrap) return { ran: [], state: before };
    await makeSchema(connection, database.schema);
    await connection.script(`create table if not exists migrations (
      name text primary key, executed_at timestamptz not null default now(), pending boolean not null)`);
    for (const { name, up, finish } of migrations) {
      await connection.script(up);
      if (finish !== undefined) await connection.script(finish);
      await record(connection, name, false);
    }
    return { ran: before.available, state: await readMigrationState(connection, migrations) };
  });

/** Runs the first phase of all new migrations. */
export const upgradeTables = (database: Database, migrations = all): Promise<MigrationResult> =>
  alone(database, async (connection) => {
    const before = await readMigrationState(connection, migrations);
    if (before.needsBootstrap) return { fault: "needs bootstrap" };
    if (before.pending.length > 0) return { fault: "pending" };
    for (const migration of named(migrations, before.available)) {
      await connection.script(migration.up);
      await record(connection, migration.name, migration.finish !== undefined);
    }
    return { ran: before.available, state: await readMigrationState(connection, migrations) };
  });

/**
 * Runs the second phase of migrations whose first phase has run: nodes of the previous version must have been stopped.
 */
export const finishUpgrade = (database: Database, migrations = all): Promise<MigrationResult> =>
  alone(database, async (connection) => {
    const before = await readMigrationState(connection, migrations);
    if (before.needsBootstrap) return { fault: "needs bootstrap" };
    for (const migration of named(migrations, before.pending)) {
      await connection.script(migration.finish ?? "");
      await record(connection, migration.name, false);
    }
    return { ran: before.pending, state: await readMigrationState(connection, migrations) };
  });

/**
 * Drops all tables and functions of Sluice, and what depends on these tables, such as views. Resolves to false if there
 * are none.
 *
 * @throws DatabaseFault if other sessions hold locks on the tables for longer than 10 s.
 */
export async function resetTables(database: Database): Promise<boolean> {
  for (let left = RESET_TRIES; ; left -= 1) {
    try {
      return await alone(database, (connection) => dropAll(connection, database.schema));
    } catch (error) {
      if (left === 1 || !isRetryable(error)) throw error;
    }
    await sleep(RESET_PAUSE);
  }
}

/** With pauses of 10 ms: 10 s. */
const RESET_TRIES = 1000;
const RESET_PAUSE = 10;

async function dropAll(connection: DatabaseConnection, schema: string): Promise<boolean> {
  if ((await readMigrationState(connection)).needsBootstrap) return false;
  const tables = await connection.query(
    `select format('%I', relname) as name from pg_class
       where relnamespace = to_regnamespace(quote_ident($1)) and relkind = 'r' and relname = any($2::text[])`,
    [schema, TABLES],
  );
  const names = tables.map(({ name }) => String(name));
  // Most statements of nodes lock this table first, so they do not take further locks now. The reset does not wait for
  // those that have locked other tables: such a session may itself wait for this table, which would be a deadlock.
  if (names.includes("revision")) await connection.script("lock table revision in access exclusive mode");
  await connection.script(`do $$ begin
      lock table ${names.join(", ")} in access exclusive mode nowait;
    exception when lock_not_available then
      raise serialization_failure using message = sqlerrm;
    end $$`);
  const functions = await connection.query(
    `select oid::regprocedure as name from pg_proc
       where pronamespace = to_regnamespace(quote_ident($1)) and proname = any($2::text[])`,
    [schema, FUNCTIONS],
  );
  await connection.script(`drop table ${names.join(", ")} cascade`);
  for (const { name } of functions) await connection.script(`drop function ${name}`);
  return true;
}

const TABLES = [
  ...collections,
  ...["revision", "changes", "nodes", "counters", "plugin_calls", "plugin_call_results", "migrations"],
  ...["revisions", "revision_changes", "peers", "peer_view", "fleet_counters"],
  ...["acme_accounts", "acme_orders", "acme_lease"],
];
const FUNCTIONS = [
  ...["take_revision", "log_change", "log_truncate", "dependents", "write_one", "write_all", "take_counters"],
  ...["log_inserted", "log_updated", "log_deleted"],
  ...["forget_changes", "take_revision_as", "write_all_as", "publish_challenges"],
];

/** Calls `run` in one process at a time; the next process sees the results of the previous one. */
const alone = <Result>(database: Database, run: (connection: DatabaseConnection) => Promise<Result>): Promise<Result> =>
  database.transaction(async (connection) => {
    await connection.query("select pg_advisory_xact_lock($1)", [LOCK]);
    return run(connection);
  });

/** `create schema if not exists` requires the CREATE privilege even if the schema exists. */
async function makeSchema(connection: DatabaseConnection, schema: string): Promise<void> {
  const [there] = await connection.query("select to_regnamespace(quote_ident($1)) is not null as there", [schema]);
  if (!there?.there) await connection.script(`create schema "${schema.replaceAll('"', '""')}"`);
}

const record = (connection: DatabaseConnection, name: string, pending: boolean) =>
  connection.query(
    `insert into migrations (name, pending) values ($1, $2)
       on conflict (name) do update set pending = excluded.pending, executed_at = now()`,
    [name, pending],
  );

const named = (migrations: readonly Migration[], names: readonly string[]): readonly Migration[] =>
  migrations.filter(({ name }) => names.includes(name));
