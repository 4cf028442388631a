/** The version that a test run has tested, for results that the repository keeps. */
import { execFileSync } from "node:child_process";
import { repositoryRoot } from "../check/source-files.ts";

export interface TestedCommit {
  /** UTC, as year, month and day. */
  readonly date: string;
  /** The commit that was tested; with a plus sign if files were changed. */
  readonly commit: string;
}

/** @param results The files with the results, as a pattern of git; their changes do not count. */
export function testedCommit(results: string): TestedCommit {
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: repositoryRoot, encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--", ".", `:!${results}`) !== "";
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: `${git("rev-parse", "--short=10", "HEAD")}${isChanged ? "+" : ""}`,
  };
}
