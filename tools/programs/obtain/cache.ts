import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";

/**
 * The folder, outside the clone, in which built tools are kept for later runs.
 *
 * `SLUICE_CACHE` overrides it; the default is `sluice` in `XDG_CACHE_HOME`, or in `.cache` of the home folder. The
 * folder may be removed whenever no suite runs.
 */
export function cacheFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const folder = env.SLUICE_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "sluice");
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The inputs of a built tool. Equal inputs give equal keys. */
export interface BuildInputs {
  /** Paths of the sources; their base names and contents count, in any order. */
  readonly files: readonly string[];
  /** All other inputs: flags, platform. */
  readonly settings: readonly string[];
}

/** Twelve hexadecimal digits that change with any input. */
export function cacheKeyOf(ingredients: BuildInputs): string {
  const hash = createHash("sha256");
  // Each part is prefixed with its length, so that the encoding is unambiguous.
  const add = (part: string | Buffer) => hash.update(`${part.length}:`).update(part);
  for (const file of ingredients.files.toSorted((a, b) => (basename(a) < basename(b) ? -1 : 1))) {
    add(basename(file));
    add(readFileSync(file));
  }
  for (const setting of ingredients.settings) add(setting);
  return hash.digest("hex").slice(0, 12);
}
