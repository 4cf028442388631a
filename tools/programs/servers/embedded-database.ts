/** Creates folders with an embedded database (PGlite), for suites that need one but do not test its creation. */
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { openPglite } from "../../../user-api/src/store/pglite.ts";
import { cacheFolder, cacheKeyOf } from "../obtain/cache.ts";

/** Puts an empty database into a folder that the user API has not opened yet, and resolves to the folder. */
export const withUserDatabase = (folder: string): Promise<string> => copyDatabase(folder, "pglite");

/** Puts an empty database into a folder that no node has opened yet, and resolves to the folder. */
export const withNodeDatabase = (folder: string): Promise<string> => copyDatabase(folder, "data");

/** Copies an empty database from the cache in 0.1 s of processor time. PGlite would need 3 s to create one. */
async function copyDatabase(folder: string, name: string): Promise<string> {
  cpSync(await emptyDatabase(), join(folder, name), { recursive: true });
  return folder;
}

/** The folder, in the cache, of Postgres' files as `initdb` leaves them. Created when missing. */
async function emptyDatabase(): Promise<string> {
  const packages = createRequire(join(import.meta.dirname, "../../../user-api/package.json"));
  const programs = dirname(packages.resolve("@electric-sql/pglite"));
  const files = ["pglite.wasm", "initdb.wasm"].map((name) => join(programs, name));
  const kept = join(cacheFolder(), `embedded-database-${cacheKeyOf({ files, settings: [] })}`);
  if (existsSync(kept)) return kept;
  const folder = mkdtempSync(`${kept}-`);
  try {
    await (await openPglite({ folder })).close();
    renameSync(join(folder, "pglite"), kept);
  } catch (error) {
    // The rename fails when another process was faster: its folder is not empty.
    if (!existsSync(kept)) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return kept;
}
