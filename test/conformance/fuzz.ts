/**
 * Long runs of the differential tests: `npm run fuzz -- --cases 100000 --seed 7`. Without --seed each run uses a new
 * seed, which is printed. `--only parsers` compares the HTTP parsers with Node's, and then parses a third as many
 * random texts in pieces. `--only explain` compares explanations of requests with what the proxy does. `--only fleet` runs
 * simulations of the protocol of fleets, a fifth of the cases with each kind of failure, from the seed on. `--only properties`
 * runs the property tests that call `randomCases`, with their usual number of cases times --cases / 5,000; their seeds
 * are new in each run, and a failure shows its seed.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { fleetFaults, simulateFleets } from "../../gateway/src/counters/fleet/testing-scenarios.ts";
import { explainsAsTheProxyDoes, REQUESTS } from "../../gateway/src/explain/testing-differential.ts";
import { repositoryRoot, sourceFiles } from "../../tools/check/source-files.ts";
import { CASES_FACTOR } from "../../tools/stages/random-cases.ts";
import { readsAsNodeDoes, readsPiecesAsTheWhole } from "./http1/differential.ts";
import { stricterThanNode } from "./http1/stricter.ts";

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "100000" },
    seed: { type: "string" },
    only: { type: "string" },
  },
});
const { only } = values;
const cases = Number(values.cases);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
if (!Number.isSafeInteger(cases) || cases < 1 || !Number.isSafeInteger(seed)) {
  console.error("--cases must be a positive whole number, and --seed a whole number");
  process.exit(2);
}
if (only !== undefined && !["parsers", "explain", "fleet", "properties"].includes(only)) {
  console.error("--only must be parsers, explain, fleet or properties");
  process.exit(2);
}

const countsOf = (tally: ReadonlyMap<string, number>): string =>
  [...tally]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

const secondsSince = (began: number): string => ((performance.now() - began) / 1000).toFixed(1);

function compareParsers(): void {
  const used = new Set<string>();
  for (const direction of ["requests", "responses"] as const) {
    const began = performance.now();
    const { agreed, stricter } = readsAsNodeDoes({ direction, cases, seed });
    readsPiecesAsTheWhole({ direction, cases: Math.ceil(cases / 3), seed });
    for (const name of stricter.keys()) used.add(name);
    console.log(`${direction}: ${cases} cases with seed ${seed} in ${secondsSince(began)} s`);
    console.log(`  ${agreed} messages accepted by both with equal results; stricter than Node: ${countsOf(stricter)}`);
  }
  const idle = Object.keys(stricterThanNode).filter((name) => !used.has(name));
  if (idle.length > 0) console.log(`rules that no case needed: ${idle.join(", ")}`);
}

async function compareExplanations(): Promise<void> {
  const began = performance.now();
  const documents = Math.ceil(cases / REQUESTS);
  const tally = await explainsAsTheProxyDoes({ documents, seed });
  console.log(`explanations: ${documents * REQUESTS} requests with seed ${seed} in ${secondsSince(began)} s`);
  console.log(`  the proxy did what the explanations say: ${countsOf(tally)}`);
}

function simulate(): void {
  for (const faults of fleetFaults) {
    const began = performance.now();
    const seeds = Math.ceil(cases / fleetFaults.length);
    const totals = simulateFleets({ faults, seeds, first: seed });
    console.log(`fleets (${faults}): ${seeds} simulations from seed ${seed} in ${secondsSince(began)} s`);
    console.log(`  ${countsOf(new Map(Object.entries(totals)))}`);
  }
}

function repeatProperties(): void {
  const began = performance.now();
  const files = sourceFiles().filter(({ path, text }) => path.endsWith(".test.ts") && /\brandomCases\(/.test(text));
  const factor = Math.ceil(cases / 5000);
  const { status } = spawnSync(process.execPath, ["--test", ...files.map(({ path }) => path)], {
    cwd: repositoryRoot,
    env: { ...process.env, [CASES_FACTOR]: String(factor) },
    stdio: "inherit",
  });
  if (status !== 0) process.exit(1);
  console.log(`property tests: ${factor} times their usual cases in ${secondsSince(began)} s`);
}

if (only === undefined || only === "parsers") compareParsers();
if (only === undefined || only === "explain") await compareExplanations();
if (only === undefined || only === "fleet") simulate();
if (only === undefined || only === "properties") repeatProperties();
