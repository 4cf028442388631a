import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Writable } from "node:stream";
import { run } from "node:test";
import { spec, type TestEvent } from "node:test/reporters";
import { repositoryRoot } from "../check/source-files.ts";
import { failedOf, failedTestText, resultFaultsOf, type StageOutcome, type TestCounts } from "./result.ts";
import { shareProcesses } from "./shared-processes.ts";
import { slowFiles } from "./slow-files.ts";
import type { Suites } from "./stages.ts";
import type { StartQueue } from "./start-queue.ts";

/** The number of files whose durations are printed: the slowest ones. */
const SLOWEST = 5;

/** The number of failed tests that the summary repeats. */
const REPEATED = 5;

/** A run of test files. */
export interface SuitesRun {
  /** Resolves when the last file has started. */
  readonly started: Promise<unknown>;
  readonly ended: Promise<StageOutcome>;
}

/** Where test files run, and where their reports go. */
export interface SuitesOptions {
  readonly queue: StartQueue;
  readonly output: Writable;
}

/**
 * Runs test files with Node's runner, each in its own process unless the stage shares processes; writes the runner's
 * report, file by file, and the slowest files.
 */
export function runSuites(stage: Suites, files: readonly string[], { queue, output }: SuitesOptions): SuitesRun {
  const tests = new Map(files.map((file) => [file, 0]));
  const shared = stage.sharesProcesses ? shareProcesses(files, join(cache, `${stage.name}-processes`)) : [];
  const sharing = new Set(shared.flatMap((process) => process.files));
  const modules = [...shared.map(({ entry }) => entry), ...files.filter((file) => !sharing.has(file))];
  const durations: [file: string, milliseconds: number][] = [];
  const failures: string[] = [];
  const counts = { tests: 0, passed: 0, cancelled: 0, skipped: 0, todo: 0 };
  const faults: string[] = [];
  const report = new spec();
  report.pipe(output, { end: false });
  // Ends the stage, even if a file hangs after its tests.
  const signal = AbortSignal.timeout(stage.minutes * 60_000);

  async function runFile(module: string): Promise<void> {
    const events = run({
      files: [join(repositoryRoot, module)],
      // Ends a test that hangs.
      timeout: stage.minutes * 30_000,
      signal,
      cwd: repositoryRoot,
      // Most processes end before optimized WebAssembly pays off: PGlite needs a fifth less processor time without it.
      // Bundled workspaces load faster than their sources.
      execArgv: ["--liftoff-only", "--conditions=built"],
      // Caches the JavaScript that Node makes of TypeScript. Without the cache, each process spends half of its start
      // on the conversion.
      env: { ...process.env, NODE_COMPILE_CACHE: join(repositoryRoot, "node_modules/.cache/node") },
    });
    let success: boolean | undefined;
    let failed = 0;
    events.on("test:summary", (summary) => {
      // A test counts for the file that ran it, even if a shared suite defines it. A file without any test reports no
      // summary.
      if (summary.file === undefined) {
        success = summary.success;
        failed = failedOf(summary.counts);
        for (const kind of countedKinds) counts[kind] += summary.counts[kind];
      } else {
        const file = relative(repositoryRoot, summary.file);
        if (tests.has(file)) tests.set(file, summary.counts.tests);
        durations.push([file, summary.duration_ms]);
      }
    });
    // In a shared process, a test counts for the file that defines it.
    const count = (file: string, type: string | undefined) => {
      const own = relative(repositoryRoot, file);
      if (sharing.has(own) && type !== "suite") tests.set(own, (tests.get(own) ?? 0) + 1);
    };
    events.on("test:pass", ({ file = "", details: { type } }) => count(file, type));
    events.on("test:fail", ({ file = "", name, details: { error, type } }) => {
      count(file, type);
      // A suite fails too when one of its tests has failed.
      if (failures.length === REPEATED || (error as { failureType?: string }).failureType === "subtestsFailed") return;
      const message = String((error.cause as Error | undefined)?.message ?? error.message);
      failures.push(failedTestText({ file: relative(repositoryRoot, file), name, message }));
    });
    // The files of a stage run at the same time, and the report has them one after the other.
    const reported: TestEvent[] = [];
    events.on("data", (event: TestEvent) => {
      if (!isTotal(event)) reported.push(event);
    });
    await once(events, "end");
    for (const event of reported) report.write(event);
    if (success === undefined) faults.push(`${module}: the runner gave no summary`);
    // For example, a file that exits with an error after its last test.
    else if (!success && failed === 0) faults.push(`${module}: the runner reports a failure`);
  }

  const tasks = longestFirst(modules, readDurations()).map((module) =>
    queue.add(stage.concurrency, () => runFile(module)),
  );

  async function end(): Promise<StageOutcome> {
    const results = await Promise.allSettled(tasks.map(({ ended }) => ended));
    report.end(endOfRun);
    await once(report, "end");
    keepDurations(durations);
    const slowest = durations.toSorted(([, one], [, other]) => other - one).slice(0, SLOWEST);
    for (const [file, duration] of slowest) output.write(`${(duration / 1000).toFixed(1).padStart(6)} s  ${file}\n`);
    const errors = results.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
    return {
      passed: counts.passed,
      failed: failedOf(counts),
      failures,
      faults: [...resultFaultsOf(counts, tests), ...faults, ...errors],
    };
  }
  return { started: Promise.all(tasks.map(({ started }) => started)), ended: end() };
}

const countedKinds = ["tests", "passed", "cancelled", "skipped", "todo"] as const satisfies (keyof TestCounts)[];

/** Whether the event is one of the totals with which the runner ends the report of a file. */
const isTotal = ({ type, data }: TestEvent): boolean =>
  (type === "test:summary" && data.file === undefined) ||
  (type === "test:diagnostic" && data.file === undefined && /^[a-z_]+ [\d.]+$/.test(data.message));

/** The reporter repeats the failed tests of all files when it gets a summary without a file. */
const endOfRun: TestEvent = {
  type: "test:summary",
  data: {
    file: undefined,
    success: true,
    duration_ms: 0,
    counts: { cancelled: 0, passed: 0, skipped: 0, suites: 0, tests: 0, todo: 0, topLevel: 0 },
  },
};

const cache = join(repositoryRoot, "node_modules/.cache/sluice");

/** A JSON file with the duration of each test file, or shared process, in its last run, in milliseconds. */
const durationsFile = join(cache, "test-durations.json");

type Durations = Readonly<Record<string, number>>;

/** The content of `durationsFile`; empty if there is no such file, or it cannot be read. */
function readDurations(): Durations {
  try {
    return JSON.parse(readFileSync(durationsFile, "utf8"));
  } catch {
    return {};
  }
}

function keepDurations(measured: readonly (readonly [file: string, milliseconds: number])[]): void {
  mkdirSync(dirname(durationsFile), { recursive: true });
  writeFileSync(durationsFile, JSON.stringify({ ...readDurations(), ...Object.fromEntries(measured) }));
}

/**
 * The files in the order in which they should start, longest first: a long file that started last would run alone while
 * other cores are idle. Files without a known duration come before all others; among them, those in `slowFiles` come
 * first.
 */
export function longestFirst(files: readonly string[], durations: Durations): readonly string[] {
  const durationOf = (file: string) => durations[file] ?? (slowFiles.has(file) ? Infinity : Number.MAX_VALUE);
  return files.toSorted((one, other) => durationOf(other) - durationOf(one) || 0);
}
