/**
 * Tables of the requests to endpoints of plugins, and of the nodes' responses. Rows live for seconds, so the tables are
 * not written to the write-ahead log.
 */
export const pluginCallTables = `
create unlogged table plugin_calls (
  id uuid primary key,
  content text not null,
  asked_at timestamptz not null
);

create unlogged table plugin_call_results (
  call_id uuid not null references plugin_calls on delete cascade,
  node uuid not null,
  content text not null,
  primary key (call_id, node)
);
`;
