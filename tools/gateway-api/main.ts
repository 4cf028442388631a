/**
 * `npm run test:conformance`: runs the conformance suite of the Gateway API against Sluice on a cluster of one node,
 * and keeps its report. With `--run-test=NAME,...` only the named tests run, and their output is printed. With
 * `--dedicated-nodes` each Gateway has nodes of its own. With either option, no report is kept.
 */
import { parseArgs } from "node:util";
import { CannotRun } from "../cluster/pods/machine.ts";
import { StartError } from "../start/ports.ts";
import { pathInShell } from "../start/typed.ts";
import { startInstallation } from "./installation.ts";
import { keepConformanceReport, reportPath, testedVersion } from "./report.ts";
import { runSuite, type SuiteResult, suiteLog } from "./run-suite.ts";

const usage = "usage: npm run test:conformance [-- [--run-test=NAME,...] [--dedicated-nodes]]";

async function main(args: readonly string[]): Promise<number> {
  const { only, dedicated } = optionsIn(args);
  const version = testedVersion();
  console.log("Starting a cluster of one node with Sluice.");
  // Gateways stay after their test. The pods of all their nodes must fit on the cluster's only node.
  const requests = ["gateway.resources.requests.cpu=1m", "gateway.resources.requests.memory=1Mi"];
  const cluster = await startInstallation(dedicated ? { values: requests } : {});
  try {
    console.log(`Running the suite; its whole output is in ${pathInShell(suiteLog)}.`);
    const result = await runSuite(cluster, {
      ...(only ? { only, onOutput: (piece: string) => void process.stdout.write(piece) } : { onResult: printResult }),
      ...(dedicated ? { gatewayClass: "sluice" } : {}),
      version,
    });
    if (only === undefined && !dedicated && result.report !== null) {
      keepConformanceReport(result.report);
      console.log(`The report is in ${reportPath}; \`npm run generate\` writes its page.`);
    }
    console.log(summaryOf(result));
    return result.code === 0 ? 0 : 1;
  } finally {
    await cluster.down();
  }
}

/** @throws StartError with the usage. */
function optionsIn(args: readonly string[]) {
  try {
    const options = { "run-test": { type: "string" }, "dedicated-nodes": { type: "boolean", default: false } } as const;
    const { values } = parseArgs({ args: [...args], options });
    return { only: values["run-test"]?.split(","), dedicated: values["dedicated-nodes"] };
  } catch (error) {
    throw new StartError(`${error instanceof Error ? error.message : error}\n${usage}`);
  }
}

function printResult(name: string, outcome: string): void {
  if (outcome !== "skipped") console.log(`${outcome} ${name}`);
}

function summaryOf({ tests }: SuiteResult): string {
  const failed = [...tests].filter(([, outcome]) => outcome === "failed").map(([name]) => name);
  const passed = [...tests].filter(([, outcome]) => outcome === "passed").length;
  return `${passed} passed, ${failed.length} failed${failed.map((name) => `\n  ${name}`).join("")}`;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof StartError || error instanceof CannotRun)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
