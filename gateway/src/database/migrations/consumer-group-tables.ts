/** Tables of consumer groups and their memberships, and the column for plugins of a group. */
export const consumerGroupTables = `
create table consumer_groups (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  name text not null constraint consumer_groups_name_key unique,
  tags text[]
);
create index consumer_groups_tags on consumer_groups using gin (tags);

create table consumer_group_consumers (
  id uuid primary key,
  created_at bigint not null,
  consumer_id uuid not null
    constraint consumer_group_consumers_consumer_id_fkey references consumers on delete cascade,
  consumer_group_id uuid not null
    constraint consumer_group_consumers_consumer_group_id_fkey references consumer_groups on delete cascade,
  tags text[],
  constraint consumer_group_consumers_together_key unique (consumer_id, consumer_group_id)
);
create index consumer_group_consumers_consumer on consumer_group_consumers (consumer_id, id);
create index consumer_group_consumers_consumer_group on consumer_group_consumers (consumer_group_id, id);
create index consumer_group_consumers_tags on consumer_group_consumers using gin (tags);

alter table plugins add column consumer_group_id uuid
  constraint plugins_consumer_group_id_fkey references consumer_groups on delete cascade;
create index plugins_consumer_group on plugins (consumer_group_id, id);
alter table plugins drop constraint plugins_together_key;
alter table plugins add constraint plugins_together_key
  unique nulls not distinct (name, route_id, service_id, consumer_id, consumer_group_id);

do $$
declare
  collection text;
begin
  foreach collection in array array['consumer_groups', 'consumer_group_consumers']
  loop
    execute format('create trigger log_change after insert or update or delete on %I
      for each row execute function log_change()', collection);
    execute format('create trigger log_truncate after truncate on %I
      for each statement execute function log_truncate()', collection);
  end loop;
end $$;
`;
