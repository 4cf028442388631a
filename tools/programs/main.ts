/**
 * `npm run tools [-- name ...]`: builds or installs the tools that suites need, all or the named ones, so that no run
 * waits for them. Tools that only `npm run test:public` uses are built only if they are named. Failures are reported at
 * the end.
 */
import { type Suites, suites } from "../stages/stages.ts";
import { isToolName, obtainTool, type ToolName } from "./tool.ts";

const toolsOfAll = (stages: readonly Suites[]) =>
  stages.flatMap(({ tools = [], folderTools = {} }) => [...tools, ...Object.values(folderTools).flat()]);
const all = toolsOfAll(suites);
const byDefault = toolsOfAll(suites.filter(({ subjects }) => subjects === undefined));
const named = process.argv.slice(2);
const unknown = named.filter((name) => !isToolName(name));
if (unknown.length > 0) {
  console.error(`no tool is called ${unknown.join(", ")}; the suites' tools are ${[...new Set(all)].join(", ")}`);
  process.exit(2);
}

const wanted: readonly ToolName[] = named.length > 0 ? named.filter(isToolName) : byDefault;
const faults: string[] = [];
for (const name of new Set(wanted)) {
  try {
    console.log(`${name}: ${await obtainTool(name)}`);
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error));
  }
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
