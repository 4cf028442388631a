/** The table of CA certificates. As in Kong, the ids of CA certificates in a service are not foreign keys. */
export const caCertificateTables = `
create table ca_certificates (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  cert text not null,
  cert_digest text constraint ca_certificates_cert_digest_key unique,
  tags text[]
);
create index ca_certificates_tags on ca_certificates using gin (tags);

create trigger log_change after insert or update or delete on ca_certificates
  for each row execute function log_change();
create trigger log_truncate after truncate on ca_certificates
  for each statement execute function log_truncate();
`;
