import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { root } from "../check/source-files.ts";
import { type Counts, failedOf, failedTestText, type Outcome, resultFaultsOf } from "./result.ts";
import { shareProcesses } from "./shared-processes.ts";
import { slowFiles } from "./slow-files.ts";
import type { Suites } from "./stages.ts";

/** The number of files whose durations are printed: the slowest ones. */
const SLOWEST = 5;

/** The number of failed tests that the summary repeats. */
const REPEATED = 5;

/**
 * Runs test files with Node's runner, each in its own process unless the stage shares processes; prints the runner's
 * report and the slowest files.
 */
export async function runSuites(stage: Suites, files: readonly string[]): Promise<Outcome> {
  const tests = new Map(files.map((file) => [file, 0]));
  const shared = stage.sharesProcesses ? shareProcesses(files, join(cache, `${stage.name}-processes`)) : [];
  const sharing = new Set(shared.flatMap((process) => process.files));
  const modules = [...shared.map(({ entry }) => entry), ...files.filter((file) => !sharing.has(file))];
  const durations: [file: string, milliseconds: number][] = [];
  const failures: string[] = [];
  let counts: Counts | undefined;
  let success = true;
  if (files.length > 0) {
    const events = run({
      files: longestFirst(modules, readDurations()).map((file) => join(root, file)),
      concurrency: stage.concurrency,
      // The first limit ends a test that hangs; the second ends the run, even if a file hangs after its tests.
      timeout: stage.minutes * 30_000,
      signal: AbortSignal.timeout(stage.minutes * 60_000),
      cwd: root,
      // Caches the JavaScript that Node makes of TypeScript. Without the cache, each process spends half of its start
      // on the conversion.
      env: { ...process.env, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node") },
    });
    events.on("test:summary", (summary) => {
      // A test counts for the file that ran it, even if a shared suite defines it. A file without any test reports no
      // summary.
      if (summary.file === undefined) ({ counts, success } = summary);
      else {
        const file = relative(root, summary.file);
        if (tests.has(file)) tests.set(file, summary.counts.tests);
        durations.push([file, summary.duration_ms]);
      }
    });
    // In a shared process, a test counts for the file that defines it.
    const count = (file: string, type: string | undefined) => {
      const own = relative(root, file);
      if (sharing.has(own) && type !== "suite") tests.set(own, (tests.get(own) ?? 0) + 1);
    };
    events.on("test:pass", ({ file = "", details: { type } }) => count(file, type));
    events.on("test:fail", ({ file = "", name, details: { error, type } }) => {
      count(file, type);
      // A suite fails too when one of its tests has failed.
      if (failures.length === REPEATED || (error as { failureType?: string }).failureType === "subtestsFailed") return;
      const message = String((error.cause as Error | undefined)?.message ?? error.message);
      failures.push(failedTestText({ file: relative(root, file), name, message }));
    });
    const report = events.compose(new spec());
    report.pipe(process.stdout, { end: false });
    await once(report, "end");
    keepDurations(durations);
    const slowest = durations.toSorted(([, one], [, other]) => other - one).slice(0, SLOWEST);
    for (const [file, duration] of slowest) console.log(`${(duration / 1000).toFixed(1).padStart(6)} s  ${file}`);
  }
  const failed = counts === undefined ? 0 : failedOf(counts);
  const faults = [...resultFaultsOf(counts, tests)];
  // For example, a file that exits with an error after its last test.
  if (!success && failed === 0 && faults.length === 0) faults.push("the runner reports a failure");
  return { passed: counts?.passed ?? 0, failed, failures, faults };
}

const cache = join(root, "node_modules/.cache/sluice");

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
