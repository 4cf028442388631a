/**
 * `npm run bench:gateway-api -- [gateways] [routes] [start] [changes] [burst]`: measures the operator with many
 * Gateways (`gateways`: 1,000 with 5 HTTPRoutes each) and with many HTTPRoutes on one Gateway (`routes`: 5,000), on a
 * real API server. By default all cases with both. Prints, and writes test/bench/results/gateway-api.{md,json}; a
 * missed bound is reported, but does not fail the run. `--gateways`, `--routes` (of each Gateway), `--changes` and
 * `--burst` set other sizes; a run with any of them is a trial that writes nothing.
 */
import { parseArgs } from "node:util";
import { type BenchReport, renderReport } from "../report.ts";
import { keepCase } from "../results.ts";
import { measureBurst } from "./burst.ts";
import { measureGatewayChanges } from "./changes.ts";
import type { GatewaySize } from "./population.ts";
import { createGatewayStage, type GatewayStage } from "./stage.ts";
import { measureGatewaysStart } from "./start.ts";

const populations: Readonly<Record<string, GatewaySize>> = {
  gateways: { gateways: 1000, routes: 5 },
  routes: { gateways: 1, routes: 5000 },
};
const efforts = { changes: 300, burst: 1000 };

const cases: Readonly<Record<string, (stage: GatewayStage, effort: typeof efforts) => Promise<BenchReport>>> = {
  start: (stage) => measureGatewaysStart(stage),
  changes: (stage, effort) => measureGatewayChanges(stage, effort),
  burst: (stage, effort) => measureBurst(stage, { routes: effort.burst }),
};
const order = Object.keys(populations).flatMap((population) => Object.keys(cases).map((one) => `${population} ${one}`));

const number = { type: "string" } as const;
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { gateways: number, routes: number, changes: number, burst: number },
});
const names = [...Object.keys(populations), ...Object.keys(cases)];
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) throw new Error(`no case '${unknown.join("', '")}': choose from ${names.join(", ")}`);

/** Those that the command names; all if it names none. */
function chosen<Value>(all: Readonly<Record<string, Value>>): readonly (readonly [string, Value])[] {
  const named = Object.entries(all).filter(([name]) => positionals.includes(name));
  return named.length > 0 ? named : Object.entries(all);
}

const given = Object.fromEntries(
  Object.entries(values).map(([name, text]) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} ${text}: expected a whole number`);
    return [name, value];
  }),
);
const isTrial = Object.keys(given).length > 0;

for (const [population, size] of chosen(populations)) {
  const filling = performance.now();
  const stage = await createGatewayStage({ ...size, ...given });
  console.log(`ready after ${((performance.now() - filling) / 1000).toFixed(0)} s`);
  try {
    for (const [name, run] of chosen(cases)) {
      const report = await run(stage, { ...efforts, ...given });
      console.log(`\n${renderReport(report)}`);
      const command = "npm run bench:gateway-api --";
      if (!isTrial) keepCase("gateway-api", { name: `${population} ${name}`, report, order, command });
    }
  } finally {
    await stage.close();
  }
}
