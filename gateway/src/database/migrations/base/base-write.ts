/**
 * The SQL function for all writes of the admin listener: many writes in one statement, all or none of them.
 *
 * Writers are serialized: each locks the row of `revision` first. So the checks of a write still hold when it is
 * committed. A write is
 *
 * | op | members |
 * |---|---|
 * | create | collection, row |
 * | replace | collection, row, expected? |
 * | remove | collection, id or column and value (and within_column, within_id) or nothing, expected? |
 *
 * where `row` is the table's row in the form of to_jsonb, and `expected` the row that must exist. The result is
 * {"revision", "effects": [{"before", "after", "along": [{"collection", "row"}]}]}, or
 * {"fault": {"index", "code", "constraint", "table", "message"}}; in that case, nothing is written.
 */
export const baseWrite = `
-- The rows that are removed together with a row, because their foreign keys cascade.
create function dependents(parent text, parent_id uuid) returns table (collection text, entity jsonb)
language plpgsql stable as $$
declare
  child record;
begin
  for child in
    select holder.relname::text as name, attribute.attname as "column"
    from pg_constraint as reference
    join pg_class as holder on holder.oid = reference.conrelid
    join pg_attribute as attribute
      on attribute.attrelid = reference.conrelid and attribute.attnum = reference.conkey[1]
    where reference.contype = 'f' and reference.confdeltype = 'c' and reference.confrelid = parent::regclass
    order by 1, 2
  loop
    return query execute format(
      'select below.* from %1$I as held, dependents(%1$L, held.id) as below where held.%2$I = $1',
      child.name, child."column") using parent_id;
    return query execute format(
      'select %1$L::text, to_jsonb(held) from %1$I as held where held.%2$I = $1 order by held.id',
      child.name, child."column") using parent_id;
  end loop;
end $$;

create function write_one(write jsonb) returns jsonb language plpgsql as $$
declare
  collection text := write ->> 'collection';
  target uuid := coalesce(write ->> 'id', write -> 'row' ->> 'id');
  columns text;
  before jsonb;
  after jsonb;
  along jsonb := '[]';
begin
  if write ->> 'op' = 'create' then
    execute format('insert into %1$I select * from jsonb_populate_record(null::%1$I, $1) returning to_jsonb(%1$I)',
      collection) into after using write -> 'row';
    return jsonb_build_object('before', null, 'after', after, 'along', along);
  end if;

  if target is not null then
    execute format('select to_jsonb(held) from %I as held where held.id = $1', collection) into before using target;
  elsif write ? 'column' then
    execute format('select to_jsonb(held) from %I as held where held.%I = $1 %s', collection, write ->> 'column',
      case when write ? 'within_column' then format('and held.%I = $2', write ->> 'within_column') else '' end)
      into before using write ->> 'value', (write ->> 'within_id')::uuid;
    target := before ->> 'id';
  end if;
  if before is null and (write ->> 'op' = 'replace' or write ? 'expected') then
    raise exception 'removed in the meantime' using errcode = 'SL002';
  end if;
  if write ? 'expected' and before <> write -> 'expected' then
    raise exception 'changed in the meantime' using errcode = 'SL001';
  end if;

  if write ->> 'op' = 'replace' then
    select string_agg(quote_ident(attname), ', ' order by attnum) into columns
      from pg_attribute where attrelid = collection::regclass and attnum > 0 and not attisdropped;
    execute format('update %1$I set (%2$s) = (select %2$s from jsonb_populate_record(null::%1$I, $1)) where id = $2
      returning to_jsonb(%1$I)', collection, columns) into after using write -> 'row', target;
  elsif before is not null then
    select coalesce(jsonb_agg(jsonb_build_object('collection', d.collection, 'row', d.entity)), '[]') into along
      from dependents(collection, target) as d;
    execute format('delete from %I where id = $1', collection) using target;
  end if;
  return jsonb_build_object('before', before, 'after', after, 'along', along);
end $$;

${writeAllFunction("create", "created_at + ttl <= extract(epoch from clock_timestamp())")}`;

/** Returns the SQL that creates or replaces `write_all`. @param ended The condition under which a key has expired. */
export function writeAllFunction(verb: "create" | "create or replace", ended: string): string {
  return `${verb} function write_all(writes jsonb) returns jsonb language plpgsql as $$
declare
  effects jsonb[] := '{}';
  index int := 0;
  write jsonb;
  code text;
  violated text;
  violating text;
  sentence text;
begin
  perform from revision for update;
  -- Expired keys are removed, so that the same key can be created again.
  delete from keyauth_credentials where ttl is not null and ${ended};
  begin
    for write in select value from jsonb_array_elements(writes) loop
      effects := effects || write_one(write);
      index := index + 1;
    end loop;
  exception
    when integrity_constraint_violation or data_exception or program_limit_exceeded or sqlstate 'SL001'
      or sqlstate 'SL002' then
      get stacked diagnostics code = returned_sqlstate, violated = constraint_name, violating = table_name,
        sentence = message_text;
      return jsonb_build_object('fault', jsonb_build_object('index', index, 'code', code, 'constraint', violated,
        'table', violating, 'message', sentence));
  end;
  return jsonb_build_object('revision', (select number from revision), 'effects', to_jsonb(effects));
end $$;
`;
}
