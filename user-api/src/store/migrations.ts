/** The tables, as numbered steps that are each applied once. */
import type { Database } from "./database.ts";
import { emailKey } from "./email-key.ts";

/** The tables are older than this program. */
export class NotMigrated extends Error {
  override readonly name = "NotMigrated";
}

/** SQL, or what SQL cannot do: that may run more than once, and by several replicas at a time. */
type Step = string | ((database: Database) => Promise<void>);

/** Steps in order; the number is the position, from 1. Never edit one that was released: add another. */
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
  // Domains in ASCII (IDNA).
  renewEmailKeys,
];

/** Rows that are read at a time: a statement on a table of any size ends in time. */
const PAGE = 10_000;

/**
 * Steps 2 and 3: keys of addresses as emailKey makes them since. Of users whose addresses are one by that, one has the new key
 * (who has it already, else the oldest). The others stay and keep the keys that they had, which nobody gets any more.
 * Replicas of the former version go on adding users meanwhile and behind it: see formerEmailKey.
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

/** Gives a user a key that nobody has. */
async function giveKey(database: Database, { id, key }: { readonly id: unknown; readonly key: string }): Promise<void> {
  const free = "not exists (select from users where email_key = $2)";
  try {
    await database.query(`update users set email_key = $2 where id = $1 and ${free}`, [id, key]);
  } catch (error) {
    // Somebody has taken it behind the look, which the index refuses: then the user keeps the former key.
    const [taken] = await database.query("select id from users where email_key = $1", [key]);
    if (taken === undefined) throw error;
  }
}

/** Any number will do, as long as no other program on the same database takes it. */
const LOCK = 5_823_001;

/**
 * Brings a database of any age to the newest step. A step in SQL runs as one implicit transaction: several replicas
 * that start at once wait for each other at the lock, and a failing step leaves nothing behind.
 */
export async function migrateTables(database: Database): Promise<void> {
  for (const [index, step] of steps.entries()) {
    const number = index + 1;
    if (typeof step === "string") await database.script(scriptOf(step, number));
    else if ((await stepsOf(database)) < number) {
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
