import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The paths of all files below a folder, sorted. */
export const filesBelow = (place: string): readonly string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();

/** A hash of the paths of these files below `root`, and of their contents. */
export function hashOfFiles(root: string, paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of paths) hash.update(path.slice(root.length)).update("\0").update(readFileSync(path)).update("\0");
  return hash.digest("hex");
}
