import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";

/**
 * Where what the suites build is kept for the next run, outside the clone.
 *
 * `SLUICE_CACHE` names another folder; the default is `sluice` in `XDG_CACHE_HOME`, or in `.cache` of the home
 * folder. Removing it is safe at any time when no suite runs.
 */
export function cacheFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const folder = env.SLUICE_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "sluice");
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** What a built tool is made of. Equal ingredients give equal keys. */
export interface Ingredients {
  /** Paths of the sources; their base names and contents count, in any order. */
  readonly files: readonly string[];
  /** Everything else that decides the result: flags, platform. */
  readonly settings: readonly string[];
}

/** Twelve hexadecimal digits that change whenever an ingredient does. */
export function keyOf(ingredients: Ingredients): string {
  const hash = createHash("sha256");
  // Each part is preceded by its length, so that no part can reach into its neighbour.
  const add = (part: string | Buffer) => hash.update(`${part.length}:`).update(part);
  for (const file of ingredients.files.toSorted((a, b) => (basename(a) < basename(b) ? -1 : 1))) {
    add(basename(file));
    add(readFileSync(file));
  }
  for (const setting of ingredients.settings) add(setting);
  return hash.digest("hex").slice(0, 12);
}
