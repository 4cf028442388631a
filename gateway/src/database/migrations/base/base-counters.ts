/**
 * Counters for rate-limiting with `policy: cluster`: shared by all nodes and exact. The table is unlogged, because
 * writing every request to disk would be expensive; a crash of the server therefore loses the counts.
 */
export const baseCounters = `
create unlogged table counters (
  -- The first 128 bits of the SHA-256 of period, window and name: a name may be too long for an index.
  key uuid primary key,
  count bigint not null,
  -- Unix milliseconds.
  expires bigint not null
) with (fillfactor = 50);
create index counters_expires on counters (expires);

-- Adds one to every counter, unless one of them has reached its limit. Rows are locked in the order of their keys, so
-- that no two wait for each other.
create function take_counters(keys uuid[], limits double precision[], ends bigint[],
  out admitted boolean, out counts bigint[]) language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into counters (key, count, expires)
    select wanted.key, 0, wanted.ends from unnest(keys, ends) as wanted (key, ends) order by wanted.key
    on conflict do nothing;
  perform from counters where key = any (keys) order by key for update;
  select bool_and(held.count < wanted.most), array_agg(held.count order by wanted.place) into admitted, counts
    from unnest(keys, limits) with ordinality as wanted (key, most, place) join counters as held using (key);
  if admitted then
    update counters set count = count + 1 where key = any (keys);
    counts := array(select count + 1 from unnest(counts) with ordinality as held (count, place) order by place);
  end if;
end $$;
`;
