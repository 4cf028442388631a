/**
 * `npm test`: all stages in order, or those that the arguments name (see `chosen`). Later stages run even when one
 * fails. The exit code is the result, and the last line has the totals.
 */
import { runChecks } from "../check/run-checks.ts";
import { sourcePaths } from "../check/source-files.ts";
import { type ToolName, tool } from "../programs/tool.ts";
import { hasFailed, type Result, summary } from "./result.ts";
import { runSuites } from "./run-suites.ts";
import { chosen, suites, testFiles, toolsOf } from "./stages.ts";

const paths = sourcePaths();
const { names, folders, unknown } = chosen(process.argv.slice(2), paths);
if (unknown.length > 0) {
  const all = ["check", ...suites.map(({ name }) => name)].join(", ");
  console.error(`no stage is called ${unknown.join(", ")}; the stages are ${all}`);
  process.exit(2);
}

const results: Result[] = [];
for (const name of names) {
  const stage = suites.find((candidate) => candidate.name === name);
  console.log(`\n=== ${name}: ${stage?.what ?? "checks of the source files"}`);
  const began = performance.now();
  const result = await attempt(name, async () => {
    if (stage === undefined) return { stage: name, ...(await runChecks()), faults: [] };
    const files = testFiles({ ...stage, folders: folders ?? stage.folders }, paths);
    const faults = await fetchTools(toolsOf(stage, files));
    const ran = await runSuites(stage, files);
    return { ...ran, faults: [...faults, ...ran.faults] };
  });
  const seconds = (performance.now() - began) / 1000;
  results.push({ ...result, seconds });
  console.log(`=== ${name}: ${hasFailed({ ...result, seconds }) ? "FAILED" : "ok"} after ${seconds.toFixed(1)} s`);
}
console.log(`\n${summary(results)}`);
process.exitCode = results.some(hasFailed) ? 1 : 0;

/** A stage that throws is a failed stage. */
async function attempt(stage: string, work: () => Promise<Omit<Result, "seconds">>): Promise<Omit<Result, "seconds">> {
  try {
    return await work();
  } catch (error) {
    console.error(error);
    return { stage, passed: 0, failed: 0, faults: [error instanceof Error ? error.message : String(error)] };
  }
}

/** Obtains the tools now and shows their progress, so that no suite's timeout includes a build. */
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
