/** The tables, as numbered steps that are each applied once. */
import type { Database } from "./database.ts";

/** The tables are older than this program. */
export class NotMigrated extends Error {
  override readonly name = "NotMigrated";
}

/** Steps in order; the number is the position, from 1. Never edit one that was released: add another. */
const steps: readonly string[] = [
  `create table users (
    id uuid primary key,
    name text not null,
    email text not null,
    -- The address as it is compared. Made by the service: what lower() does depends on the server's locale.
    email_key text not null unique,
    created_at timestamptz not null default now()
  );
  create table posts (
    id uuid primary key,
    user_id uuid not null references users (id) on delete cascade,
    title text,
    created_at timestamptz not null default now()
  );
  create index posts_by_user on posts (user_id, id);`,
];

/** Any number will do, as long as no other program on the same database takes it. */
const LOCK = 5_823_001;

/**
 * One script that brings a database of any age to the newest step. It runs as one implicit transaction: several
 * replicas that start at once wait for each other at the lock, and a failing step leaves nothing behind.
 */
export function migrations(): string {
  const guarded = steps.map(
    (step, index) => `do $step$ begin
      if not exists (select from user_api_migrations where step = ${index + 1}) then
        ${step}
        insert into user_api_migrations (step) values (${index + 1});
      end if;
    end $step$;`,
  );
  return [
    `select pg_advisory_xact_lock(${LOCK});`,
    "create table if not exists user_api_migrations (step int primary key, applied_at timestamptz default now());",
    ...guarded,
  ].join("\n");
}

/** How many steps a database has had; 0 for one without our tables. */
export async function stepsOf(database: Database): Promise<number> {
  const [found] = await database.query("select to_regclass('user_api_migrations') is not null as exists");
  if (found?.exists !== true) return 0;
  const [row] = await database.query("select max(step) as step from user_api_migrations");
  return typeof row?.step === "number" ? row.step : 0;
}

/** Rejects with NotMigrated unless all steps were applied. One that has more serves a newer program too. */
export async function requireMigrated(database: Database): Promise<void> {
  const had = await stepsOf(database);
  if (had >= steps.length) return;
  throw new NotMigrated(
    `its tables are at step ${had} of ${steps.length}; the command "sluice-user-api migrate" brings them up to date`,
  );
}
