/**
 * The change log that nodes follow. Triggers fill it, so it includes every changed row and cascading deletes.
 *
 * One transaction is one revision. A writer that obtains the next number locks the only row of `revision` until the end
 * of its transaction. So numbers become visible in order, and a node that has seen a number has missed no earlier one.
 */
export const baseChanges = `
create table revision (
  one boolean primary key default true check (one),
  number bigint not null,
  -- The log is complete after this number; a node with an older one must read everything.
  complete_after bigint not null,
  -- A reset creates a new one, because numbers begin again after it.
  epoch uuid not null
);
insert into revision (number, complete_after, epoch) values (0, 0, gen_random_uuid());

create table changes (
  revision bigint not null,
  collection text not null,
  id uuid not null,
  primary key (revision, collection, id)
);

create function take_revision() returns bigint language plpgsql as $$
declare
  taken text := current_setting('sluice.revision', true);
  fresh bigint;
begin
  if taken <> '' then
    return taken::bigint;
  end if;
  update revision set number = number + 1 returning number into fresh;
  perform set_config('sluice.revision', fresh::text, true);
  perform pg_notify('sluice_changes', fresh::text);
  if fresh % 1000 = 0 then
    delete from changes where revision <= fresh - 10000;
    update revision set complete_after = greatest(complete_after, fresh - 10000);
  end if;
  return fresh;
end $$;

create function log_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if new is not distinct from old then
      return null;
    end if;
    if new.id <> old.id then
      insert into changes values (take_revision(), tg_table_name, old.id) on conflict do nothing;
    end if;
  end if;
  insert into changes values (take_revision(), tg_table_name, coalesce(new.id, old.id)) on conflict do nothing;
  return null;
end $$;

-- TRUNCATE does not report the removed rows, so every node has to read all tables again.
create function log_truncate() returns trigger language plpgsql as $$
declare
  fresh bigint := take_revision();
begin
  update revision set complete_after = fresh;
  return null;
end $$;

do $$
declare
  collection text;
begin
  foreach collection in array array['certificates', 'snis', 'upstreams', 'targets', 'services', 'routes', 'consumers',
    'keyauth_credentials', 'plugins']
  loop
    execute format('create trigger log_change after insert or update or delete on %I
      for each row execute function log_change()', collection);
    execute format('create trigger log_truncate after truncate on %I
      for each statement execute function log_truncate()', collection);
  end loop;
end $$;

-- Unlogged: written twice a second by every node, and nothing is lost when it is empty after a crash.
create unlogged table nodes (
  id text primary key,
  address text not null,
  -- Base URL of the status listener; null: other machines cannot reach it.
  status text,
  version text not null,
  revision bigint not null,
  last_seen timestamptz not null
);
`;
