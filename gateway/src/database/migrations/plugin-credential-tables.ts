/** The table of the credentials that plugins declare and verify themselves, built like the base tables. */
export const pluginCredentialTables = `
create table plugin_credentials (
  id uuid primary key,
  created_at bigint not null,
  consumer_id uuid not null constraint plugin_credentials_consumer_id_fkey references consumers on delete cascade,
  plugin text not null,
  key text not null,
  config jsonb not null,
  tags text[],
  constraint plugin_credentials_together_key unique (plugin, key)
);
create index plugin_credentials_consumer on plugin_credentials (consumer_id, id);
create index plugin_credentials_tags on plugin_credentials using gin (tags);
create trigger log_change after insert or update or delete on plugin_credentials
  for each row execute function log_change();
create trigger log_truncate after truncate on plugin_credentials
  for each statement execute function log_truncate();
`;
