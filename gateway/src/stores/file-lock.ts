/** Something that one process at a time may have: the kernel holds the lock, so it ends with its process however that ends. */
import { DatabaseSync } from "node:sqlite";

/**
 * Returns what gives the lock back; undefined when another process (or another part of this one) has it. The lock is
 * SQLite's, as Node has no flock (docs/decisions/0004). Its file stays empty.
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
