/** Removes temporary files that killed writers left behind. Those of Secrets contain key material. */
import { lstatSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { targetOf } from "./atomic.ts";
import { isResourceFile, undefinedIfMissing } from "./file-cache.ts";

/** Milliseconds. A younger file may belong to a running program that does not hold the lock, such as a copy. */
const minAge = 60_000;

/**
 * Removes them below a folder, but not in hidden folders. The caller must hold the lock of the writers in the folder,
 * because a running writer has such files too.
 */
export async function removeStaleTemporaryFiles(folder: string): Promise<void> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(undefinedIfMissing)) ?? [];
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith(".")) await removeStaleTemporaryFiles(path);
    else if (entry.isFile() && isResourceFile(targetOf(entry.name) ?? "") && isOld(path)) rmSync(path, { force: true });
  }
}

function isOld(path: string): boolean {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  return facts !== undefined && Date.now() - facts.mtimeMs > minAge;
}
