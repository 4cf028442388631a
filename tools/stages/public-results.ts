/** The last results of the stage `public`, which the repository keeps, because not every run repeats them. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../check/source-files.ts";
import { hasFailed, type StageResult } from "./result.ts";
import { type TestedCommit, testedCommit } from "./tested-commit.ts";

const folder = join(repositoryRoot, "test/public");

/** A line of the page test/public/results.md. */
export interface KeptResult extends TestedCommit {
  readonly subject: string;
  readonly passed: number;
  readonly failed: number;
  /** The number of reasons for a failure other than failed tests. */
  readonly faults: number;
  readonly seconds: number;
}

export const keptResult = (
  result: StageResult,
  about: Pick<KeptResult, "subject" | "date" | "commit">,
): KeptResult => ({
  ...about,
  passed: result.passed,
  failed: result.failed,
  faults: result.faults.length,
  seconds: Math.round(result.seconds),
});

export function renderResults(kept: readonly KeptResult[]): string {
  const rows = kept.map(
    ({ subject, date, commit, passed, failed, faults, seconds }) =>
      `| ${subject} | ${date} | ${commit} | ${passed} | ${failed + faults} | ${seconds} |`,
  );
  return [
    "# Last results of `npm run test:public`",
    "",
    "`npm run test:public` writes this page. A skipped test counts as failed.",
    "",
    "| subject | date | commit | passed | failed | seconds |",
    "|---|---|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

/** Replaces the kept result of the folder `result.stage` of test/public. The results of other folders stay. */
export function keepResult(subject: string, result: StageResult): void {
  const data = join(folder, "results.json");
  const before = existsSync(data) ? (JSON.parse(readFileSync(data, "utf8")) as Record<string, KeptResult>) : {};
  const about = { subject, ...testedCommit("test/public/results.*") };
  const kept = { ...before, [result.stage]: keptResult(result, about) };
  writeFileSync(data, `${JSON.stringify(kept, null, 2)}\n`);
  writeFileSync(join(folder, "results.md"), renderResults(Object.values(kept)));
  if (hasFailed(result)) console.log("the failure is written to test/public/results.md");
}
