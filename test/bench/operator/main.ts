/**
 * `npm run bench:operator -- [start] [apply] [storm] [edits] [fleet]`: measures the operator with a real API server;
 * all cases by default. Prints, and writes test/bench/results/operator.{md,json}; a missed bound is reported, but
 * does not fail the run. The sizes are options; a run with any of them is a trial that writes nothing. All cases take
 * about twelve minutes on two idle cores; filling the API server takes a third of that time. `edits` does not depend on
 * the number of resources: with `--routes 1000 --services 1000 --consumers 100` it takes about three minutes.
 */
import { parseArgs } from "node:util";
import { type BenchReport, renderReport } from "../report.ts";
import { keepCase } from "../results.ts";
import { measureApply } from "./apply.ts";
import { measureEdits } from "./edits.ts";
import { measureFleet } from "./fleet.ts";
import { populateCluster } from "./population.ts";
import { createOperatorStage, type PopulatedStage } from "./stage.ts";
import { measureOperatorStart } from "./start.ts";
import { measureStorm } from "./storm.ts";

const sizes = {
  routes: 10_000,
  services: 10_000,
  consumers: 1000,
  applies: 300,
  rate: 100,
  seconds: 60,
  requests: 1_000_000,
  nodes: 500,
  changes: 20,
};
type SizeName = keyof typeof sizes;

const cases: Readonly<Record<string, (stage: PopulatedStage, size: typeof sizes) => Promise<BenchReport>>> = {
  start: (stage) => measureOperatorStart(stage),
  apply: (stage, { applies }) => measureApply(stage, { applies }),
  storm: (stage, { rate, seconds }) => measureStorm(stage, { perSecond: rate, seconds }),
  edits: (stage, { requests }) => measureEdits(stage, { requests }),
  fleet: (stage, { nodes, changes }) => measureFleet(stage, { nodes, changes }),
};
const order = Object.keys(cases);

const names = Object.keys(sizes) as SizeName[];
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(names.map((name) => [name, { type: "string" as const }])),
});
const unknown = positionals.filter((name) => !order.includes(name));
if (unknown.length > 0) throw new Error(`no case '${unknown.join("', '")}': choose from ${order.join(", ")}`);

const size = { ...sizes };
for (const name of names) {
  const given = values[name];
  if (given === undefined) continue;
  size[name] = Number(given);
  if (!Number.isInteger(size[name]) || size[name] < 1) throw new Error(`--${name} ${given}: expected a whole number`);
}
const isTrial = Object.keys(values).length > 0;

const filling = performance.now();
const stage: PopulatedStage = {
  ...(await createOperatorStage({ populate: (client, url) => populateCluster(client, size, url) })),
  size,
};
console.log(`ready after ${((performance.now() - filling) / 1000).toFixed(0)} s`);
try {
  for (const name of order) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    const report = await cases[name]?.(stage, size);
    if (!report) continue;
    console.log(`\n${renderReport(report)}`);
    if (!isTrial) keepCase("operator", { name, report, order, command: "npm run bench:operator --" });
  }
} finally {
  await stage.close();
}
