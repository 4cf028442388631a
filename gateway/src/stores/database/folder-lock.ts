/** One process per folder: the kernel holds the lock, so it ends with its process however that ends. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** The folder belongs to another running process. */
export class FolderInUse extends Error {
  override readonly name = "FolderInUse";
}

/**
 * Makes the folder (for its owner alone: keys stand in it) and takes it. Returns what gives it back.
 *
 * The lock is SQLite's, as Node has no flock (docs/decisions/0004). Its file stays empty.
 *
 * @throws FolderInUse
 */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = new DatabaseSync(join(folder, "lock"));
  try {
    file.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if (!isBusy(error)) throw error;
    throw new FolderInUse(
      `the embedded database in ${folder} is in use by another process, and only one at a time can have it: ` +
        "stop that process, or use SLUICE_DATABASE=postgres for several",
    );
  }
  return () => file.close();
}

/** SQLITE_BUSY */
const isBusy = (error: unknown): boolean => error instanceof Error && "errcode" in error && error.errcode === 5;
