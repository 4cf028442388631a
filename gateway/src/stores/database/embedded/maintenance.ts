/**
 * What a server does in the background and PGlite does not: without checkpoints the log of writes grows for ever, and
 * without vacuum the tables do.
 */
import type { Connection } from "../driver.ts";

/** Milliseconds between looks. */
const INTERVAL = 60_000;
/** Every so many looks that found something written, also a vacuum: it takes longer. */
const VACUUM = 10;

/** Returns what ends it. `connection` must keep its statements out of open transactions. */
export function startMaintenance(connection: Connection, interval = INTERVAL): () => void {
  let kept: unknown;
  let rounds = 0;
  let working = false;

  async function round(): Promise<void> {
    const position = async () => (await connection.query("select pg_current_wal_lsn()::text as position"))[0]?.position;
    if ((await position()) === kept) return;
    rounds += 1;
    if (rounds % VACUUM === 1) await connection.script("vacuum analyze");
    await connection.script("checkpoint");
    // Both are written to the log themselves.
    kept = await position();
  }

  const timer = setInterval(() => {
    if (working) return;
    working = true;
    round()
      // The database has ended: whoever uses it is told.
      .catch(() => undefined)
      .finally(() => {
        working = false;
      });
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}
