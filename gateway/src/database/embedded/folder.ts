/** The folder of the embedded database: `data` holds its files, `lock` lets only one process at a time use it. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { acquireFileLock } from "../file-lock.ts";

export class FolderInUse extends Error {
  override readonly name = "FolderInUse";
}

/**
 * Creates the folder (readable by its owner only, because it contains keys) and locks it. Returns the function that
 * unlocks it.
 *
 * @throws FolderInUse
 */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const release = acquireFileLock(join(folder, "lock"));
  if (release) return release;
  throw new FolderInUse(
    `the embedded database in ${folder} is in use by another process, and only one process at a time can use it: ` +
      "stop that process, or use SLUICE_DATABASE=postgres for several processes",
  );
}

export const dataFolder = (folder: string): string => join(folder, "data");

export const hasDatabase = (data: string): boolean => existsSync(join(data, "PG_VERSION"));
