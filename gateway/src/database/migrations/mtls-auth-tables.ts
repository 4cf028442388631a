/** The table of credentials of mtls-auth, built like the other tables of credentials. */
export const mtlsAuthTables = `
create table mtls_auth_credentials (
  id uuid primary key,
  created_at bigint not null,
  consumer_id uuid not null constraint mtls_auth_credentials_consumer_id_fkey references consumers on delete cascade,
  subject_name text not null,
  ca_certificate_id uuid
    constraint mtls_auth_credentials_ca_certificate_id_fkey references ca_certificates on delete cascade,
  tags text[],
  constraint mtls_auth_credentials_together_key unique nulls not distinct (subject_name, ca_certificate_id)
);
create index mtls_auth_credentials_consumer on mtls_auth_credentials (consumer_id, id);
create index mtls_auth_credentials_ca_certificate on mtls_auth_credentials (ca_certificate_id, id);
create index mtls_auth_credentials_tags on mtls_auth_credentials using gin (tags);

create trigger log_change after insert or update or delete on mtls_auth_credentials
  for each row execute function log_change();
create trigger log_truncate after truncate on mtls_auth_credentials
  for each statement execute function log_truncate();
`;
