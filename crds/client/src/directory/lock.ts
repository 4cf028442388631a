/** One writer at a time in a directory, among all processes of the machine. */
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

export interface Lock {
  /** Runs while nobody else does. Rejects when the lock is held elsewhere for 10 s. */
  hold<Result>(run: () => Promise<Result>): Promise<Result>;
  /** Resolves when all that was asked for so far is done. */
  idle(): Promise<void>;
}

const patience = 10_000;
/** Milliseconds between two tries at the most: a process with much to write leaves short gaps only. */
const longestWait = 4;

/**
 * The kernel holds the lock (through SQLite, as Node has no flock), so it ends with its process however that ends:
 * a file with a pid in it can neither be taken over without a race nor be told from one whose pid was given again.
 * The file stays empty; it is made on the first use.
 */
export function createLock(path: string): Lock {
  let last: Promise<unknown> = Promise.resolve();
  return {
    hold(run) {
      const result = last.then(async () => {
        const file = new DatabaseSync(path);
        try {
          await take(file, path);
          return await run();
        } finally {
          file.close();
        }
      });
      last = result.catch(() => undefined);
      return result;
    },
    async idle() {
      await last;
    },
  };
}

async function take(file: DatabaseSync, path: string): Promise<void> {
  const until = performance.now() + patience;
  for (let wait = 1; ; wait = Math.min(wait * 2, longestWait)) {
    try {
      return file.exec("BEGIN IMMEDIATE");
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() > until)
        throw new Error(`another process has held ${path} for ${patience / 1000} s`, { cause: error });
    }
    await sleep(wait * (0.5 + Math.random()));
  }
}

/** SQLITE_BUSY */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === 5;
}
