/**
 * The revisions of the entities: which entities each transaction changed, from what to what, and who changed them.
 * Filled by triggers, so changes by SQL are included. They replace the triggers of base-changes.ts, which logged the
 * changes for nodes row by row.
 */

/** The tables of entities at the time of this migration. */
const loggedTables = [
  ...["certificates", "snis", "ca_certificates", "upstreams", "targets", "services", "routes", "consumers"],
  ...["consumer_groups", "consumer_group_consumers", "keyauth_credentials", "jwt_secrets", "basicauth_credentials"],
  ...["hmacauth_credentials", "mtls_auth_credentials", "acls", "plugin_credentials", "plugins", "vaults"],
];

/** The changes of a transaction with more bytes are not kept. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * A trigger function that logs the changes of one statement, for nodes and for the revision.
 *
 * @param pairs Selects id, before and after of the changed rows.
 */
const logFunction = (name: string, pairs: string): string => `
create function ${name}() returns trigger language plpgsql as $$
declare
  size bigint;
begin
  with pairs as materialized (${pairs}),
  taken as materialized (select take_revision() as number from pairs limit 1),
  logged as (
    insert into changes select taken.number, tg_table_name, pairs.id from taken, pairs on conflict do nothing
  ), kept as (
    insert into revision_changes select taken.number, tg_table_name, pairs.* from taken, pairs
      on conflict on constraint revision_changes_pkey do update set after = excluded.after
  )
  select sum(coalesce(pg_column_size(before), 0) + coalesce(pg_column_size(after), 0)) into size from pairs;
  if size is null then
    return null;
  end if;
  size := size + coalesce(nullif(current_setting('sluice.bytes', true), ''), '0')::bigint;
  perform set_config('sluice.bytes', size::text, true);
  if size > ${MAX_BYTES} then
    perform forget_changes();
  end if;
  return null;
end $$;
`;

export const revisionTables = `
-- Writers lock the row of revision before the tables of entities. In another order, this migration and a writer of the
-- previous version could wait for each other.
lock table revision in exclusive mode;

create table revisions (
  -- The number of its first transaction (table revision).
  number bigint primary key,
  made_at timestamptz not null,
  author text not null,
  -- Whether its changes are in revision_changes.
  kept boolean not null
);
-- The state before the first recorded change.
insert into revisions select number, clock_timestamp(), 'database user ' || session_user, true from revision;

-- The last transaction: with these columns, the row that it locks anyway decides whether the next one is joined with it.
alter table revision
  add column newest bigint,
  add column author text,
  add column written_at timestamptz,
  -- The transactions of the same author that followed each other within two seconds, up to the last one.
  add column streak bigint;

-- No foreign key: its check would cost each change more than the row itself.
create table revision_changes (
  -- The transaction (table revision).
  revision bigint not null,
  collection text not null,
  id uuid not null,
  -- Null: there was no entity.
  before jsonb,
  -- Null: there is no entity any more.
  after jsonb,
  primary key (revision, collection, id)
);

create function forget_changes() returns void language plpgsql as $$
begin
  delete from revision_changes where revision = current_setting('sluice.revision')::bigint;
  update revisions set kept = false where kept and number = (select newest from revision);
  -- Later transactions are not joined with this one.
  update revision set streak = 0;
end $$;
${logFunction("log_inserted", "select id, null::jsonb as before, to_jsonb(added) as after from added")}
${logFunction("log_deleted", "select id, to_jsonb(removed) as before, null::jsonb as after from removed")}
-- A row whose id changed is a deleted and a created entity.
${logFunction(
  "log_updated",
  `select id, to_jsonb(removed) as before, to_jsonb(added) as after from removed full join added using (id)
      where removed.* is distinct from added.*`,
)}
do $$
declare
  collection text;
begin
  foreach collection in array array[${loggedTables.map((name) => `'${name}'`).join(", ")}] loop
    execute format('drop trigger log_change on %I', collection);
    execute format('create trigger log_inserted after insert on %I referencing new table as added
      for each statement execute function log_inserted()', collection);
    execute format('create trigger log_updated after update on %I referencing old table as removed new table as added
      for each statement execute function log_updated()', collection);
    execute format('create trigger log_deleted after delete on %I referencing old table as removed
      for each statement execute function log_deleted()', collection);
  end loop;
end $$;
drop function log_change();

-- A transaction that follows twenty others of the same author, each within two seconds, belongs to the revision of the
-- last one: the thousands of transactions of a sync by decK would otherwise displace all earlier revisions.
create or replace function take_revision() returns bigint language plpgsql as $$
declare
  taken text := current_setting('sluice.revision', true);
  present timestamptz;
  writer text;
  fresh bigint;
  opened bigint;
begin
  if taken <> '' then
    return taken::bigint;
  end if;
  present := clock_timestamp();
  writer := coalesce(nullif(current_setting('sluice.author', true), ''), 'database user ' || session_user);
  update revision set number = number + 1, author = writer, written_at = present,
      streak = case when author = writer and written_at > present - interval '2 s' then streak + 1 else 1 end,
      newest = case when author = writer and written_at > present - interval '2 s' and streak >= 20
        and number - newest < 10000 then newest else number + 1 end
    returning number, newest into fresh, opened;
  if opened = fresh then
    insert into revisions values (fresh, present, writer, true);
  end if;
  perform set_config('sluice.revision', fresh::text, true), pg_notify('sluice_changes', fresh::text);
  if fresh % 1000 = 0 then
    delete from changes where revision <= fresh - 10000;
    update revision set complete_after = greatest(complete_after, fresh - 10000);
    -- Admin processes delete earlier; this bound is for databases that are changed by SQL alone.
    delete from revisions where number < (select number from revisions order by number desc offset 10000 limit 1);
    delete from revision_changes where revision < (select min(number) from revisions);
  end if;
  return fresh;
end $$;

create or replace function log_truncate() returns trigger language plpgsql as $$
declare
  fresh bigint := take_revision();
begin
  update revision set complete_after = fresh;
  perform forget_changes();
  return null;
end $$;

-- These functions set the author of the transaction, in the same statement as its changes.
create function take_revision_as(author text) returns bigint language plpgsql as $$
begin
  perform set_config('sluice.author', author, true);
  return take_revision();
end $$;

create function write_all_as(author text, writes jsonb) returns jsonb language plpgsql as $$
begin
  perform set_config('sluice.author', author, true);
  return write_all(writes);
end $$;
`;
