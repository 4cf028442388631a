/** Counters of a fleet in the database of its nodes. */

import type { DatabaseQuery } from "../counters/database-counters.ts";
import { counterId } from "../counters/fleet/accounts.ts";
import { WINDOW_GRACE } from "../counters/fleet/fleet-clock.ts";
import type { ReportedCounter, SavedCounter } from "../counters/fleet/messages.ts";
import { type LedgerStore, MAX_SAVED } from "./ledger-saver.ts";
import { reportedOf } from "./parse-message.ts";

/** The counters that were saved last. */
const LOAD = `select content from fleet_counters where expires > $1::text::bigint
  order by saved_at desc limit ${MAX_SAVED}`;
/**
 * Rows are written in the order of their keys, so that no two statements wait for each other. A former owner that could
 * not save a counter in time does not replace what the present one has saved.
 */
const SAVE = `insert into fleet_counters (key, expires, content, saved_at)
  select key, expires, content::jsonb, clock_timestamp()
    from unnest($1::text[], $2::bigint[], $3::text[]) as saved (key, expires, content) order by key
  on conflict (key) do update set expires = excluded.expires, content = excluded.content, saved_at = excluded.saved_at
    where coalesce((fleet_counters.content->>'epoch')::bigint, 0) <= (excluded.content->>'epoch')::bigint`;
const TIDY = "delete from fleet_counters where expires <= $1::text::bigint";

/** Milliseconds between two removals of counters whose windows have ended. */
const TIDIED_EVERY = 60_000;

export class LedgerDatabase implements LedgerStore {
  readonly #query: DatabaseQuery;
  #tidiedAt = Number.NEGATIVE_INFINITY;

  constructor(query: DatabaseQuery) {
    this.#query = query;
  }

  async load(): Promise<readonly ReportedCounter[]> {
    const rows = await this.#query(LOAD, [`${Date.now()}`]);
    return rows.map(({ content }) => reportedOf(content));
  }

  async save(counters: readonly SavedCounter[]): Promise<void> {
    await this.#query(SAVE, [
      counters.map(({ counter }) => counterId(counter)),
      counters.map(({ counter: { expires } }) => expires + WINDOW_GRACE),
      counters.map((each) => JSON.stringify(each)),
    ]);
    if (performance.now() - this.#tidiedAt < TIDIED_EVERY) return;
    this.#tidiedAt = performance.now();
    await this.#query(TIDY, [`${Date.now()}`]);
  }
}
