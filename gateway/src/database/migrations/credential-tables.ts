/** Tables for credentials of jwt, basic-auth and hmac-auth and for groups of acl, built like the base tables. */
export const credentialTables = `
create table jwt_secrets (
  id uuid primary key,
  created_at bigint not null,
  consumer_id uuid not null constraint jwt_secrets_consumer_id_fkey references consumers on delete cascade,
  key text not null constraint jwt_secrets_key_key unique,
  secret text,
  rsa_public_key text,
  algorithm text not null,
  tags text[]
);

create table basicauth_credentials (
  id uuid primary key,
  created_at bigint not null,
  consumer_id uuid not null constraint basicauth_credentials_consumer_id_fkey references consumers on delete cascade,
  username text not null constraint basicauth_credentials_username_key unique,
  password text not null,
  tags text[]
);

create table hmacauth_credentials (
  id uuid primary key,
  created_at bigint not null,
  consumer_id uuid not null constraint hmacauth_credentials_consumer_id_fkey references consumers on delete cascade,
  username text not null constraint hmacauth_credentials_username_key unique,
  secret text not null,
  tags text[]
);

create table acls (
  id uuid primary key,
  created_at bigint not null,
  consumer_id uuid not null constraint acls_consumer_id_fkey references consumers on delete cascade,
  "group" text not null,
  tags text[],
  constraint acls_together_key unique (consumer_id, "group")
);

do $$
declare
  collection text;
begin
  foreach collection in array array['jwt_secrets', 'basicauth_credentials', 'hmacauth_credentials', 'acls']
  loop
    execute format('create index %I on %I (consumer_id, id)', collection || '_consumer', collection);
    execute format('create index %I on %I using gin (tags)', collection || '_tags', collection);
    execute format('create trigger log_change after insert or update or delete on %I
      for each row execute function log_change()', collection);
    execute format('create trigger log_truncate after truncate on %I
      for each statement execute function log_truncate()', collection);
  end loop;
end $$;
`;
