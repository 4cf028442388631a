/**
 * The nodes that count together (rate limits with `policy: fleet`), each with the time of its last heartbeat, and the view
 * of them. They are logged, because nodes ignore views whose epoch does not grow.
 */
export const peerTables = `
create table peers (
  name text primary key,
  host text not null,
  port integer not null,
  leaving boolean not null,
  epoch bigint not null,
  last_seen timestamptz not null
);

create table peer_view (
  id integer primary key default 1 check (id = 1),
  epoch bigint not null,
  members jsonb not null,
  leaving jsonb not null
);
insert into peer_view (epoch, members, leaving) values (0, '[]', '[]');
`;
