/** A lock that only one process can hold. The kernel owns it, so it ends with the process, even after a crash. */
import { DatabaseSync } from "node:sqlite";

/**
 * Returns the function that releases the lock; undefined when another process (or other code of this process) holds it.
 * The lock is SQLite's, because Node has no flock (docs/decisions/0004). Its file stays empty.
 */
export function acquireFileLock(path: string): (() => void) | undefined {
  const file = new DatabaseSync(path);
  try {
    file.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return () => file.close();
}

/** SQLITE_BUSY */
const isBusy = (error: unknown): boolean => error instanceof Error && "errcode" in error && error.errcode === 5;
