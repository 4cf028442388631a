import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export const repositoryRoot = join(import.meta.dirname, "../..");

/** A text file of the repository. */
export interface CheckedFile {
  /** Path from the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** The path of every file that is tracked by git or untracked and not ignored; deleted files are left out. */
export function sourcePaths(folder = repositoryRoot): readonly string[] {
  const list = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  // A file with an unresolved merge is listed more than once.
  return [...new Set(list.split("\0"))].filter(
    (path) => path !== "" && statSync(join(folder, path), { throwIfNoEntry: false })?.isFile(),
  );
}

/** The text files among the paths of `sourcePaths`. */
export function sourceFiles(folder = repositoryRoot): readonly CheckedFile[] {
  return sourcePaths(folder)
    .map((path) => ({ path, text: readFileSync(join(folder, path), "utf8") }))
    .filter(({ text }) => !text.includes("\0"));
}
