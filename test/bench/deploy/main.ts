/**
 * `npm run bench:deploy -- [start] [rollouts] [memory] [images]`: measures the dev stack on a cluster of one node with
 * real pods; all cases by default. Prints, and writes test/bench/results/deploy.{md,json}; a missed bound is reported,
 * but does not fail the run. `--routes` sets the number of Routes of the case `memory`, and makes a trial run that
 * writes nothing. All cases together take about eight minutes on two idle cores, and need root and Linux for the
 * cluster.
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { type BenchReport, renderReport } from "../report.ts";
import { keepCase } from "../results.ts";
import { measureImageSizes } from "./images.ts";
import { measureReleaseMemory } from "./memory.ts";
import { measureRollouts } from "./rollouts.ts";
import { createDeployStage, type DeployStage } from "./stage.ts";
import { measureReleaseStart } from "./start.ts";

const { positionals, values } = parseArgs({ allowPositionals: true, options: { routes: { type: "string" } } });
const routes = Number(values.routes ?? 10_000);
if (!Number.isInteger(routes) || routes < 1) throw new Error(`--routes ${values.routes}: expected a whole number`);

const onCluster: Readonly<Record<string, (stage: DeployStage) => Promise<BenchReport>>> = {
  start: measureReleaseStart,
  rollouts: measureRollouts,
  memory: (stage) => measureReleaseMemory(stage, { routes }),
};
const order = [...Object.keys(onCluster), "images"];
const unknown = positionals.filter((name) => !order.includes(name));
if (unknown.length > 0) throw new Error(`no case '${unknown.join("', '")}': choose from ${order.join(", ")}`);
const chosen = (name: string) => positionals.length === 0 || positionals.includes(name);

function keep(name: string, report: BenchReport): void {
  console.log(`\n${renderReport(report)}`);
  if (values.routes === undefined) keepCase("deploy", { name, report, order, command: "npm run bench:deploy --" });
}

if (chosen("images")) keep("images", await measureImageSizes());
const cases = Object.entries(onCluster).filter(([name]) => chosen(name));
if (cases.length > 0) {
  const busy = `one-minute load average of the machine before the cluster was started: ${loadavg()[0]?.toFixed(1)}`;
  const stage = await createDeployStage();
  try {
    for (const [name, measure] of cases) {
      const report = await measure(stage);
      keep(name, { ...report, verdicts: [...report.verdicts, busy] });
    }
  } finally {
    await stage.close();
  }
}
