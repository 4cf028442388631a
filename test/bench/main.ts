/**
 * `npm run bench [proxy|swap|apply|admin ...]`: measures, prints, and writes test/bench/results/<bench>.{md,json}. A missed bound is
 * reported as it is; nothing fails because of it.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { benchAdmin } from "./admin.ts";
import { benchApply } from "./apply.ts";
import { benchProxy } from "./proxy.ts";
import { type BenchReport, machine, renderReport } from "./report.ts";
import { benchSwap } from "./swap.ts";

const benches: Readonly<Record<string, () => Promise<BenchReport>>> = {
  proxy: () => benchProxy({ rounds: 5, seconds: 4 }),
  admin: () => benchAdmin({ services: 1000, rows: 100_000, writes: 100 }),
  swap: () => benchSwap({ routes: [10, 10_000, 100_000], changes: 200 }),
  apply: () => benchApply({ routes: 1000, changes: 200 }),
};

const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(benches);
const results = join(import.meta.dirname, "results");
mkdirSync(results, { recursive: true });
for (const name of chosen) {
  const bench = benches[name];
  if (!bench) throw new Error(`no bench '${name}': choose of ${Object.keys(benches).join(", ")}`);
  const report = await bench();
  const text = `# Results of \`npm run bench ${name}\`\n\n${machine()}\n\n${renderReport(report)}`;
  writeFileSync(join(results, `${name}.md`), text);
  writeFileSync(join(results, `${name}.json`), `${JSON.stringify({ machine: machine(), ...report }, null, 2)}\n`);
  console.log(`\n${renderReport(report)}`);
}
