/**
 * `npm run bench -- [proxy [case ...]] [swap] [apply] [admin]`: measures, prints, and writes
 * test/bench/results/<bench>.{md,json}; everything when nothing is named. A missed bound is reported as it is; nothing
 * fails because of it. `--seconds` and `--rounds` make the proxy's cases shorter or longer, and then nothing is written.
 */
import { parseArgs } from "node:util";
import { benchAdmin } from "./admin.ts";
import { benchApply } from "./apply.ts";
import { benchProxy, type ProxyCase, proxyCases } from "./proxy/index.ts";
import { type BenchReport, renderReport } from "./report.ts";
import { keepCase, keepReport } from "./results.ts";
import { benchSwap } from "./swap.ts";

const benches: Readonly<Record<string, () => Promise<BenchReport>>> = {
  admin: () => benchAdmin({ services: 1000, rows: 100_000, writes: 100 }),
  swap: () => benchSwap({ routes: [10, 10_000, 100_000], changes: 200 }),
  apply: () => benchApply({ routes: 1000, changes: 200 }),
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: "string" }, rounds: { type: "string" } },
});
const isCase = (name: string): name is ProxyCase => (proxyCases as readonly string[]).includes(name);
const unknown = positionals.filter((name) => name !== "proxy" && !isCase(name) && !(name in benches));
if (unknown.length > 0) {
  const known = ["proxy", ...proxyCases, ...Object.keys(benches)].join(", ");
  throw new Error(`no bench '${unknown.join("', '")}': choose of ${known}`);
}

const all = positionals.length === 0;
const cases = positionals.filter(isCase);
if (all || cases.length > 0 || positionals.includes("proxy")) {
  const effort = {
    ...(values.seconds !== undefined && { seconds: Number(values.seconds) }),
    ...(values.rounds !== undefined && { rounds: Number(values.rounds) }),
  };
  const trial = Object.keys(effort).length > 0;
  const done = (name: string, report: BenchReport) => {
    console.log(`\n${renderReport(report)}`);
    if (!trial) keepCase("proxy", { name, report, order: proxyCases });
  };
  await benchProxy(cases.length > 0 ? cases : proxyCases, done, effort);
}
for (const [name, bench] of Object.entries(benches)) {
  if (!all && !positionals.includes(name)) continue;
  const report = await bench();
  keepReport(name, report);
  console.log(`\n${renderReport(report)}`);
}
