/** What the orders of certificates from CAs need (ACME): accounts, states, challenges, and the process that orders. */
export const acmeTables = `
alter table certificates add column acme jsonb, alter column cert drop not null, alter column key drop not null;

create table acme_accounts (
  directory text primary key,
  key text not null,
  url text
);

-- No foreign key: rows that refer to a certificate count as entities that are removed with it. The process that orders
-- deletes the rows of removed certificates.
create table acme_orders (
  certificate_id uuid primary key,
  -- AcmeState of @sluice/acme. With a private key while an order is under way.
  state jsonb,
  -- AcmeStatus of @sluice/acme, for the admin API.
  status jsonb,
  -- A list of AcmeChallenge of @sluice/model. Nodes read them with the certificate.
  challenges jsonb
);

-- Challenges are a change of the certificate for nodes. They are no revision, because no entity changes.
create function publish_challenges() returns trigger language plpgsql as $$
declare
  fresh bigint;
begin
  fresh := take_revision();
  insert into changes values (fresh, 'certificates', new.certificate_id) on conflict do nothing;
  delete from revisions where number = fresh and not exists (select from revision_changes where revision = fresh);
  -- Later transactions are not joined with this one.
  update revision set streak = 0;
  return null;
end $$;
create trigger new_challenges after insert on acme_orders
  for each row when (new.challenges is not null) execute function publish_challenges();
create trigger changed_challenges after update on acme_orders
  for each row when (new.challenges is distinct from old.challenges) execute function publish_challenges();

-- The process that orders. Another one takes over when it has not renewed for a while.
create table acme_lease (
  one boolean primary key default true check (one),
  holder text,
  renewed timestamptz
);
insert into acme_lease default values;
`;
