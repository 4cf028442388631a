/**
 * `npm run bench -- [proxy [case ...]] [user-api [case ...]] [swap] [apply] [reload] [admin] [console]`: measures,
 * prints, and writes test/bench/results/<bench>.{md,json}; all benches by default. A missed bound is reported, but does
 * not fail the run. `--seconds` and `--rounds` change the duration of the cases of proxy, user-api and `--against`.
 * With either option, no results are written, not even those of other benches.
 *
 * `npm run bench -- --against FOLDER --name COMMIT` compares this version with a built checkout of another version.
 */
import { parseArgs } from "node:util";
import { benchAdmin } from "./admin.ts";
import { benchApply } from "./apply.ts";
import { benchConsole } from "./console.ts";
import { benchProxy, type ProxyCase, proxyCases } from "./proxy/index.ts";
import { benchPaired } from "./proxy/paired.ts";
import { benchReload } from "./reload.ts";
import { type BenchReport, renderReport } from "./report.ts";
import { keepBenchReport, keepCase } from "./results.ts";
import { benchSwap } from "./swap.ts";
import { benchUserApi, type UserApiCase, userApiCases } from "./user-api/index.ts";

const benches: Readonly<Record<string, () => Promise<BenchReport>>> = {
  admin: () => benchAdmin({ services: 1000, rows: 100_000, writes: 100 }),
  swap: () => benchSwap({ routes: [10, 10_000, 100_000], changes: 200 }),
  apply: () => benchApply({ routes: 1000, changes: 200 }),
  reload: () => benchReload({ routes: 100_000, changes: 10 }),
  console: () => benchConsole({ routes: 10_000 }),
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string" },
    rounds: { type: "string" },
    against: { type: "string" },
    name: { type: "string", default: "the other version" },
  },
});
const isCase = (name: string): name is ProxyCase => (proxyCases as readonly string[]).includes(name);
const isUserApiCase = (name: string): name is UserApiCase => (userApiCases as readonly string[]).includes(name);
const known = ["proxy", ...proxyCases, "user-api", ...userApiCases, ...Object.keys(benches)];
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  throw new Error(`no bench '${unknown.join("', '")}': choose from ${known.join(", ")}`);
}

const { against, name: otherName } = values;
const all = positionals.length === 0 && against === undefined;
const effort = {
  ...(values.seconds !== undefined && { seconds: Number(values.seconds) }),
  ...(values.rounds !== undefined && { rounds: Number(values.rounds) }),
};
const trial = Object.keys(effort).length > 0;
const keep = (bench: string, order: readonly string[]) => (name: string, report: BenchReport) => {
  console.log(`\n${renderReport(report)}`);
  if (!trial) keepCase(bench, { name, report, order });
};

const cases = positionals.filter(isCase);
if (all || cases.length > 0 || positionals.includes("proxy")) {
  await benchProxy(cases.length > 0 ? cases : proxyCases, keep("proxy", proxyCases), effort);
}
const ofUserApi = positionals.filter(isUserApiCase);
if (all || ofUserApi.length > 0 || positionals.includes("user-api")) {
  await benchUserApi(ofUserApi.length > 0 ? ofUserApi : userApiCases, keep("user-api", userApiCases), effort);
}
for (const [name, bench] of Object.entries(benches)) {
  if (!all && !positionals.includes(name)) continue;
  const report = await bench();
  if (!trial) keepBenchReport(name, report);
  console.log(`\n${renderReport(report)}`);
}
if (against !== undefined) {
  const report = await benchPaired({ against, name: otherName, ...effort });
  if (!trial) keepBenchReport("paired", report, "npm run bench -- --against FOLDER --name COMMIT");
  console.log(`\n${renderReport(report)}`);
}
