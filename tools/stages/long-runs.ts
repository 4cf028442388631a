/** The last long runs of random tests (`npm run fuzz -- --record`), which the repository keeps. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../check/source-files.ts";
import { type TestedCommit, testedCommit } from "./tested-commit.ts";

const path = "test/conformance/long-runs.json";

/** A run that has passed. */
export interface LongRun extends TestedCommit {
  readonly cases: number;
  readonly seed: number;
  readonly seconds: number;
}

/** By what was compared. */
export const keptLongRuns = (): Readonly<Record<string, LongRun>> =>
  JSON.parse(readFileSync(join(repositoryRoot, path), "utf8"));

/** Replaces the kept run with this name. */
export function keepLongRun(what: string, run: Omit<LongRun, keyof TestedCommit>): void {
  const kept = { ...keptLongRuns(), [what]: { ...testedCommit(path), ...run } };
  writeFileSync(join(repositoryRoot, path), `${JSON.stringify(kept, null, 2)}\n`);
}
