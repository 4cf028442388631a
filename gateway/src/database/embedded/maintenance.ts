/**
 * The background work of a Postgres server that PGlite does not do: without checkpoints the write-ahead log grows
 * without limit, and without vacuum the tables do.
 */
import type { DatabaseConnection } from "../driver.ts";

/** Milliseconds between checks. */
const INTERVAL = 60_000;
/** After this number of checks that found writes, a vacuum runs too: it takes longer. */
const VACUUM = 10;

/** Returns the function that stops it. `connection` must keep these statements out of open transactions. */
export function startMaintenance(connection: DatabaseConnection, interval = INTERVAL): () => void {
  let kept: unknown;
  let rounds = 0;
  let working = false;

  async function round(): Promise<void> {
    const position = async () => (await connection.query("select pg_current_wal_lsn()::text as position"))[0]?.position;
    if ((await position()) === kept) return;
    rounds += 1;
    if (rounds % VACUUM === 1) await connection.script("vacuum analyze");
    await connection.script("checkpoint");
    // Both commands write to the log themselves.
    kept = await position();
  }

  const timer = setInterval(() => {
    if (working) return;
    working = true;
    round()
      // The database has closed: its users get the error.
      .catch(() => undefined)
      .finally(() => {
        working = false;
      });
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}
