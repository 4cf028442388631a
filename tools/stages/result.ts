/** How a stage went. */
export interface Result {
  readonly stage: string;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  /** Why it failed, beyond failed tests: sentences. */
  readonly faults: readonly string[];
}

/** What Node's test runner counts. What is none of the others has failed. */
export interface Counts {
  readonly tests: number;
  readonly passed: number;
  readonly cancelled: number;
  readonly skipped: number;
  readonly todo: number;
}

/** The tests that ran and failed, or were cut short. */
export function failedOf({ tests, passed, skipped, todo }: Counts): number {
  return tests - passed - skipped - todo;
}

/**
 * What is wrong with a run besides failed tests. A skipped test proves nothing, and a file without a test looks like
 * success: both are faults.
 *
 * @param files the files that ran, with how many tests each reported.
 */
export function faultsOf(counts: Counts | undefined, files: ReadonlyMap<string, number>): readonly string[] {
  if (files.size === 0) return ["it has no test file"];
  if (counts === undefined) return ["the runner gave no summary"];
  const empty = [...files].filter(([, tests]) => tests === 0).map(([file]) => `${file} reported no test`);
  const unproven = (["skipped", "todo"] as const)
    .filter((kind) => counts[kind] > 0)
    .map((kind) => `${counts[kind]} ${kind}: what cannot run must fail and name what is missing`);
  return [...empty, ...unproven];
}

export function hasFailed(result: Result): boolean {
  return result.failed > 0 || result.faults.length > 0;
}

/** One line a stage, its faults, and the totals alone on the last line. A fault counts as failed. */
export function summary(results: readonly Result[]): string {
  const width = Math.max(...results.map(({ stage }) => stage.length));
  const lines = results.flatMap((result) => [
    `${hasFailed(result) ? "FAILED" : "ok    "} ${result.stage.padEnd(width)}  ${result.passed} passed, ${
      result.failed
    } failed, ${result.seconds.toFixed(1)} s`,
    ...result.faults.map((fault) => `       ${fault}`),
  ]);
  const sum = (pick: (result: Result) => number) => results.reduce((total, result) => total + pick(result), 0);
  const seconds = sum((result) => result.seconds);
  const time = `in ${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  const failed = sum((result) => result.failed + result.faults.length);
  return [...lines, time, `${sum((result) => result.passed)} passed, ${failed} failed`].join("\n");
}
