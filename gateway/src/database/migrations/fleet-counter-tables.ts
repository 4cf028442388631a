/**
 * The counters of long periods of rate limits with `policy: fleet`, which nodes save about once a second. They are logged,
 * because they must survive a crash of the server.
 */
export const fleetCounterTables = `
create table fleet_counters (
  -- Period, start of the window, and a hash of the name.
  key text primary key,
  -- Unix milliseconds.
  expires bigint not null,
  content jsonb not null,
  saved_at timestamptz not null
);
create index fleet_counters_saved_at on fleet_counters (saved_at);
`;
