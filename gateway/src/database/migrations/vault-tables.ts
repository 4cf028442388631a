/** The table of vaults. */
export const vaultTables = `
create table vaults (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  prefix text not null constraint vaults_prefix_key unique,
  name text not null,
  description text,
  config jsonb,
  tags text[]
);
create index vaults_tags on vaults using gin (tags);
create trigger log_change after insert or update or delete on vaults
  for each row execute function log_change();
create trigger log_truncate after truncate on vaults
  for each statement execute function log_truncate();
`;
