/** The tables, as numbered migration steps. The database records the steps that have been applied. */
import type { Database } from "./database.ts";
import { emailKey } from "./email-key.ts";

/**
 * SQL, or a function for changes that SQL cannot make. A function may run more than once, and on several replicas at
 * the same time.
 */
type Step = string | ((database: Database) => Promise<void>);

/** Steps in order; a step's number is its position, from 1. Never edit a released step: add another. */
const steps: readonly Step[] = [
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
  renewEmailKeys,
  // Step 3: keys with domains in ASCII (IDNA).
  renewEmailKeys,
];

/** Rows read at a time, so that each statement is short on a table of any size. */
const PAGE = 10_000;

/**
 * Steps 2 and 3: computes all keys again with emailKey. Of users whose addresses have the same new key, one gets it:
 * the user that has it already, else the oldest. The others keep their former keys, which no new user gets. Replicas
 * of the former version continue to add users during and after this step: see formerEmailKey.
 */
async function renewEmailKeys(database: Database): Promise<void> {
  let after: unknown = "00000000-0000-0000-0000-000000000000";
  for (;;) {
    const rows = await database.query(
      `select id, email, email_key from users where id > $1 order by id limit ${PAGE}`,
      [after],
    );
    for (const { id, email, email_key: before } of rows) {
      after = id;
      const key = emailKey(String(email));
      if (key === before) continue;
      await giveKey(database, { id, key });
    }
    if (rows.length < PAGE) return;
  }
}

async function giveKey(database: Database, { id, key }: { readonly id: unknown; readonly key: string }): Promise<void> {
  const free = "not exists (select from users where email_key = $2)";
  try {
    await database.query(`update users set email_key = $2 where id = $1 and ${free}`, [id, key]);
  } catch (error) {
    // Another user got the key after the check, and the unique index rejected the update: this user keeps its former
    // key.
    const [taken] = await database.query("select id from users where email_key = $1", [key]);
    if (taken === undefined) throw error;
  }
}

/** An arbitrary number that no other program on the same database may use. */
const LOCK = 5_823_001;

/**
 * Applies all missing steps. A step in SQL runs as one implicit transaction: replicas that start at the same time wait
 * for each other at the lock, and a failing step leaves nothing behind.
 */
export async function migrateTables(database: Database): Promise<void> {
  for (const [index, step] of steps.entries()) {
    const number = index + 1;
    if (typeof step === "string") await database.script(scriptOf(step, number));
    else if ((await appliedSteps(database)) < number) {
      await step(database);
      await database.query("insert into user_api_migrations (step) values ($1) on conflict do nothing", [number]);
    }
  }
}

const scriptOf = (step: string, number: number): string => `
  select pg_advisory_xact_lock(${LOCK});
  create table if not exists user_api_migrations (step int primary key, applied_at timestamptz default now());
  do $step$ begin
    if not exists (select from user_api_migrations where step = ${number}) then
      ${step}
      insert into user_api_migrations (step) values (${number});
    end if;
  end $step$;`;

/** The number of applied steps; 0 for a database without our tables. */
export async function appliedSteps(database: Database): Promise<number> {
  const [found] = await database.query("select to_regclass('user_api_migrations') is not null as exists");
  if (found?.exists !== true) return 0;
  const [row] = await database.query("select max(step) as step from user_api_migrations");
  return typeof row?.step === "number" ? row.step : 0;
}

/** Rejects unless all steps were applied. A database of a newer version is accepted. */
export async function requireMigrated(database: Database): Promise<void> {
  const had = await appliedSteps(database);
  if (had >= steps.length) return;
  throw new Error(
    `its tables are at step ${had} of ${steps.length}; the command "sluice-user-api migrate" brings them up to date`,
  );
}
