/** The result of a stage. */
export interface StageResult {
  readonly stage: string;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  /** The first failed tests as `failedTestText` formats them; the summary at the end of the output repeats these. */
  readonly failures?: readonly string[];
  /** Why the stage has failed, apart from failed tests: one sentence per reason. */
  readonly faults: readonly string[];
}

/** A `StageResult` without the name and the duration of the stage. */
export type StageOutcome = Omit<StageResult, "stage" | "seconds">;

/** The counts of Node's test runner. Tests that are not counted as passed, skipped or todo have failed. */
export interface TestCounts {
  readonly tests: number;
  readonly passed: number;
  readonly cancelled: number;
  readonly skipped: number;
  readonly todo: number;
}

/** The number of tests that failed or were cancelled. */
export function failedOf({ tests, passed, skipped, todo }: TestCounts): number {
  return tests - passed - skipped - todo;
}

/**
 * The faults of a run, apart from failed tests: no test file, a file that reported no test, and tests that are skipped
 * or a todo. A skipped test proves nothing, and a file without a test would look like success.
 *
 * @param files The files that ran, with the number of tests that each reported.
 */
export function resultFaultsOf(counts: TestCounts, files: ReadonlyMap<string, number>): readonly string[] {
  if (files.size === 0) return ["the stage has no test file"];
  const empty = [...files].filter(([, tests]) => tests === 0).map(([file]) => `${file} reported no test`);
  const unproven = (["skipped", "todo"] as const)
    .filter((kind) => counts[kind] > 0)
    .map((kind) => `${counts[kind]} ${kind}: a test that cannot run must fail and name what is missing`);
  return [...empty, ...unproven];
}

export function hasFailed(result: StageResult): boolean {
  return result.failed > 0 || result.faults.length > 0;
}

/** The number of lines of a failed test's message that the summary repeats. */
const MESSAGE_LINES = 12;

/**
 * The file and the name of a failed test, and the last lines of its message, which often quote the last output of a
 * process. Meant for the summary at the end of the output, because a CI system shows the end of a long log first.
 */
export function failedTestText({ file, name, message }: { file: string; name: string; message: string }): string {
  const lines = message.trimEnd().split("\n").slice(-MESSAGE_LINES);
  return [`${file}: ${name}`, ...lines.map((line) => `  ${line}`)].join("\n");
}

/**
 * One line per stage, followed by the stage's first failed tests and its faults; then the total time, and on the last
 * line the totals alone. A fault counts as a failure.
 *
 * @param seconds The duration of all stages together, which overlap.
 */
export function summary(results: readonly StageResult[], seconds: number): string {
  const width = Math.max(...results.map(({ stage }) => stage.length));
  const lines = results.flatMap((result) => [
    `${hasFailed(result) ? "FAILED" : "ok    "} ${result.stage.padEnd(width)}  ${result.passed} passed, ${
      result.failed
    } failed, ${result.seconds.toFixed(1)} s`,
    ...[...(result.failures ?? []), ...result.faults].map((text) => text.replaceAll(/^/gm, "       ")),
  ]);
  const sum = (pick: (result: StageResult) => number) => results.reduce((total, result) => total + pick(result), 0);
  const time = `in ${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  const failed = sum((result) => result.failed + result.faults.length);
  return [...lines, time, `${sum((result) => result.passed)} passed, ${failed} failed`].join("\n");
}
