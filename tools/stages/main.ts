/**
 * `npm test`: all stages in order, or those that the arguments name (see `chosen`). Later stages run even when one
 * fails. The exit code is 1 if a stage has failed, and the last line has the totals.
 */
import { runChecks } from "../check/run-checks.ts";
import { sourcePaths } from "../check/source-files.ts";
import { type ToolName, tool } from "../programs/tool.ts";
import { keepResult } from "./public-results.ts";
import { hasFailed, type Outcome, type Result, summary } from "./result.ts";
import { runSuites } from "./run-suites.ts";
import { chosen, stagePartsOf, suites, testFiles, toolsOf } from "./stages.ts";

const paths = sourcePaths();
const { names, folders, unknown } = chosen(process.argv.slice(2), paths);
if (unknown.length > 0) {
  const all = ["check", ...suites.map(({ name }) => name)].join(", ");
  console.error(`no stage or folder of a stage is called ${unknown.join(", ")}; the stages are ${all}`);
  process.exit(2);
}

const results: Result[] = [];
for (const name of names) {
  const stage = suites.find((candidate) => candidate.name === name);
  if (stage === undefined) {
    await runStage(name, "checks of the source files", async () => ({ ...(await runChecks()), faults: [] }));
    continue;
  }
  const files = testFiles({ ...stage, folders: folders ?? stage.folders }, paths);
  for (const part of stagePartsOf(stage, files)) {
    const subject = stage.subjects?.[part.name];
    const result = await runStage(part.name, subject ?? stage.what, async () => {
      const faults = await fetchTools(toolsOf(stage, part.files));
      const ran = await runSuites({ ...stage, concurrency: part.concurrency }, part.files);
      return { ...ran, faults: [...faults, ...ran.faults] };
    });
    if (subject !== undefined) keepResult(subject, result);
  }
}
console.log(`\n${summary(results)}`);
process.exitCode = results.some(hasFailed) ? 1 : 0;

async function runStage(stage: string, what: string, work: () => Promise<Outcome>): Promise<Result> {
  console.log(`\n=== ${stage}: ${what}`);
  const began = performance.now();
  const outcome = await attempt(work);
  const result = { ...outcome, stage, seconds: (performance.now() - began) / 1000 };
  results.push(result);
  console.log(`=== ${stage}: ${hasFailed(result) ? "FAILED" : "ok"} after ${result.seconds.toFixed(1)} s`);
  return result;
}

/** A stage that throws counts as failed. */
async function attempt(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work();
  } catch (error) {
    console.error(error);
    return { passed: 0, failed: 0, faults: [error instanceof Error ? error.message : String(error)] };
  }
}

/** Obtains the tools, so that no suite's timeout includes a build. Resolves to the messages of errors. */
async function fetchTools(names: readonly ToolName[]): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const name of names) {
    try {
      console.log(`${name}: ${await tool(name)}`);
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
    }
  }
  return faults;
}
