/**
 * The tables of entities: one column per member, and `<member>_id` for a reference.
 *
 * A constraint's name identifies the members: `<table>_<member>_key`, `<table>_together_key` (uniqueTogether),
 * `<table>_<member>_id_fkey`. Postgres sorts ids in the order of their text forms.
 */
export const baseTables = `
create table certificates (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  cert text not null,
  key text not null,
  cert_alt text,
  key_alt text,
  tags text[]
);
create index certificates_tags on certificates using gin (tags);

create table snis (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  name text not null constraint snis_name_key unique,
  certificate_id uuid not null constraint snis_certificate_id_fkey references certificates on delete cascade,
  tags text[]
);
create index snis_certificate on snis (certificate_id, id);
create index snis_tags on snis using gin (tags);

create table upstreams (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  name text not null constraint upstreams_name_key unique,
  algorithm text not null,
  hash_on text not null,
  hash_fallback text not null,
  hash_on_header text,
  hash_fallback_header text,
  hash_on_cookie text,
  hash_on_cookie_path text not null,
  hash_on_query_arg text,
  hash_fallback_query_arg text,
  hash_on_uri_capture text,
  hash_fallback_uri_capture text,
  slots integer not null,
  healthchecks jsonb not null,
  tags text[],
  host_header text,
  client_certificate_id uuid
    constraint upstreams_client_certificate_id_fkey references certificates on delete restrict,
  use_srv_name boolean not null
);
create index upstreams_client_certificate on upstreams (client_certificate_id, id);
create index upstreams_tags on upstreams using gin (tags);

create table targets (
  id uuid primary key,
  created_at double precision not null,
  updated_at double precision not null,
  upstream_id uuid not null constraint targets_upstream_id_fkey references upstreams on delete cascade,
  target text not null,
  weight integer not null,
  tags text[],
  constraint targets_together_key unique (upstream_id, target)
);
create index targets_upstream on targets (upstream_id, id);
create index targets_tags on targets using gin (tags);

create table services (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  name text constraint services_name_key unique,
  retries integer not null,
  protocol text not null,
  host text not null,
  port integer not null,
  path text,
  connect_timeout integer not null,
  write_timeout integer not null,
  read_timeout integer not null,
  tags text[],
  client_certificate_id uuid
    constraint services_client_certificate_id_fkey references certificates on delete restrict,
  tls_verify boolean,
  tls_verify_depth integer,
  ca_certificates uuid[],
  enabled boolean not null
);
create index services_client_certificate on services (client_certificate_id, id);
create index services_tags on services using gin (tags);

create table routes (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  name text constraint routes_name_key unique,
  protocols text[] not null,
  methods text[],
  hosts text[],
  paths text[],
  headers jsonb,
  snis text[],
  sources jsonb,
  destinations jsonb,
  https_redirect_status_code integer not null,
  strip_path boolean not null,
  preserve_host boolean not null,
  regex_priority integer not null,
  path_handling text not null,
  request_buffering boolean not null,
  response_buffering boolean not null,
  tags text[],
  service_id uuid constraint routes_service_id_fkey references services on delete restrict
);
create index routes_service on routes (service_id, id);
create index routes_tags on routes using gin (tags);

create table consumers (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  username text constraint consumers_username_key unique,
  custom_id text constraint consumers_custom_id_key unique,
  tags text[]
);
create index consumers_tags on consumers using gin (tags);

create table keyauth_credentials (
  id uuid primary key,
  created_at bigint not null,
  consumer_id uuid not null
    constraint keyauth_credentials_consumer_id_fkey references consumers on delete cascade,
  key text not null constraint keyauth_credentials_key_key unique,
  tags text[],
  ttl integer
);
create index keyauth_credentials_consumer on keyauth_credentials (consumer_id, id);
create index keyauth_credentials_tags on keyauth_credentials using gin (tags);
create index keyauth_credentials_ends on keyauth_credentials ((created_at + ttl)) where ttl is not null;

create table plugins (
  id uuid primary key,
  created_at bigint not null,
  updated_at bigint not null,
  name text not null,
  instance_name text constraint plugins_instance_name_key unique,
  route_id uuid constraint plugins_route_id_fkey references routes on delete cascade,
  service_id uuid constraint plugins_service_id_fkey references services on delete cascade,
  consumer_id uuid constraint plugins_consumer_id_fkey references consumers on delete cascade,
  config jsonb not null,
  protocols text[] not null,
  enabled boolean not null,
  tags text[],
  constraint plugins_together_key unique nulls not distinct (name, route_id, service_id, consumer_id)
);
create index plugins_route on plugins (route_id, id);
create index plugins_service on plugins (service_id, id);
create index plugins_consumer on plugins (consumer_id, id);
create index plugins_tags on plugins using gin (tags);
`;
