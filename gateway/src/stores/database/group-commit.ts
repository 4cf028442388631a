/** Group commit: writes that come during a transaction share the next one. */

import type { Database } from "../../database/driver.ts";
import type { Write } from "../store.ts";
import { type WriteAllResult, writeAll } from "./write-all.ts";

/** Does all or none of the writes, like `writeAll`. */
export type CommitWrites = (writes: readonly Write[]) => Promise<WriteAllResult>;

interface Waiting {
  readonly writes: readonly Write[];
  readonly resolve: (done: WriteAllResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Maximum number of writes per transaction: each waits for all of them, and if one is rejected, all are repeated one by
 * one.
 */
const MOST = 64;

/**
 * The database serializes writers anyway; together they need one statement, one commit and one notification to the
 * nodes. No write waits for others: a single write starts at once.
 */
export function createGroupCommit(database: Database): CommitWrites {
  const waiting: Waiting[] = [];
  let working = false;

  async function work(): Promise<void> {
    working = true;
    while (waiting.length > 0) await settle(database, waiting.splice(0, groupSize(waiting)));
    working = false;
  }

  return (writes) =>
    new Promise((resolve, reject) => {
      waiting.push({ writes, resolve, reject });
      if (!working) void work();
    });
}

/** How many of the waiting writes go together; at least one. */
function groupSize(waiting: readonly Waiting[]): number {
  let writes = 0;
  const next = waiting.findIndex((one) => {
    writes += one.writes.length;
    return writes > MOST;
  });
  return next < 0 ? waiting.length : Math.max(next, 1);
}

async function settle(database: Database, group: readonly Waiting[]): Promise<void> {
  if (group.length > 1 && (await settledTogether(database, group))) return;
  for (const { writes, resolve, reject } of group) await writeAll(database, writes, false).then(resolve, reject);
}

/** False when a write was rejected, so that nothing was written: each must then be done separately. */
async function settledTogether(database: Database, group: readonly Waiting[]): Promise<boolean> {
  const writes = group.flatMap((one) => one.writes);
  try {
    const done = await writeAll(database, writes, false);
    if (done.fault) return false;
    const rest = [...done.effects];
    for (const one of group) one.resolve({ effects: rest.splice(0, one.writes.length), revision: done.revision });
  } catch (error) {
    for (const { reject } of group) reject(error);
  }
  return true;
}
