/** The tables, as numbered steps that are each applied once. */

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
