/**
 * `npm test`: all stages in order, or those that the arguments name (see `chosen`). A stage begins while the last files
 * of the stage before still run. Later stages run even when one fails. The exit code is 1 if a stage has failed, and the
 * last line has the totals.
 */
import type { Writable } from "node:stream";
import { buildPrograms } from "../build/programs.ts";
import { runChecks } from "../check/run-checks.ts";
import { sourcePaths } from "../check/source-files.ts";
import { obtainTool, type ToolName } from "../programs/tool.ts";
import { OrderedOutput } from "./ordered-output.ts";
import { keepResult } from "./public-results.ts";
import { hasFailed, type StageOutcome, type StageResult, summary } from "./result.ts";
import { runSuites } from "./run-suites.ts";
import { chooseStages, stagePartsOf, suites, testFiles, toolsOf } from "./stages.ts";
import { StartQueue } from "./start-queue.ts";

const paths = sourcePaths();
const { names, folders, unknown } = chooseStages(process.argv.slice(2), paths);
if (unknown.length > 0) {
  const all = ["check", ...suites.map(({ name }) => name)].join(", ");
  console.error(`no stage or folder of a stage is called ${unknown.join(", ")}; the stages are ${all}`);
  process.exit(2);
}

const began = performance.now();
// Once, before test files that start the programs run at the same time.
await buildPrograms();
const results: Promise<StageResult>[] = [];
const queue = new StartQueue();
const output = new OrderedOutput(process.stdout);
for (const name of names) {
  const stage = suites.find((candidate) => candidate.name === name);
  if (stage === undefined) {
    const result = runStage(name, "checks of the source files", async (section) => {
      return { ...(await runChecks((line) => section.write(`${line}\n`))), faults: [] };
    });
    results.push(result);
    // The checks use all cores.
    await result;
    continue;
  }
  const files = testFiles({ ...stage, folders: folders ?? stage.folders }, paths);
  for (const part of stagePartsOf(stage, files)) {
    const { promise: started, resolve: start } = Promise.withResolvers<unknown>();
    const subject = stage.subjects?.[part.name];
    const result = runStage(part.name, subject ?? stage.what, async (section) => {
      const faults = await fetchTools(toolsOf(stage, part.files), section);
      const run = runSuites({ ...stage, concurrency: part.concurrency }, part.files, { queue, output: section });
      start(run.started);
      const ran = await run.ended;
      return { ...ran, faults: [...faults, ...ran.faults] };
    });
    results.push(result);
    if (subject !== undefined) keepResult(subject, await result);
    // The next stage begins when no file of this stage waits any more.
    await Promise.race([started, result]);
  }
}
const all = await Promise.all(results);
await output.ended();
console.log(`\n${summary(all, (performance.now() - began) / 1000)}`);
process.exitCode = all.some(hasFailed) ? 1 : 0;

async function runStage(
  stage: string,
  what: string,
  work: (section: Writable) => Promise<StageOutcome>,
): Promise<StageResult> {
  const section = output.section();
  section.write(`\n=== ${stage}: ${what}\n`);
  const began = performance.now();
  const outcome = await attempt(() => work(section));
  const result = { ...outcome, stage, seconds: (performance.now() - began) / 1000 };
  section.end(`=== ${stage}: ${hasFailed(result) ? "FAILED" : "ok"} after ${result.seconds.toFixed(1)} s\n`);
  return result;
}

/** A stage that throws counts as failed. */
async function attempt(work: () => Promise<StageOutcome>): Promise<StageOutcome> {
  try {
    return await work();
  } catch (error) {
    console.error(error);
    return { passed: 0, failed: 0, faults: [error instanceof Error ? error.message : String(error)] };
  }
}

/** Obtains the tools, so that no suite's timeout includes a build. Resolves to the messages of errors. */
async function fetchTools(names: readonly ToolName[], section: Writable): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const name of names) {
    try {
      section.write(`${name}: ${await obtainTool(name)}\n`);
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
    }
  }
  return faults;
}
