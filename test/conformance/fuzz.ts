/**
 * Long runs of the differential tests: `npm run fuzz -- --cases 100000 --seed 7`. Without --seed each run uses a new
 * seed, which is printed. `--only parsers` compares the HTTP parsers with Node's, and then parses a third as many
 * random texts in pieces. `--only explain` compares explanations of requests with what the proxy does. `--only fleet` runs
 * simulations of the protocol of fleets, a fifth of the cases with each kind of failure, from the seed on.
 * `--only http2-clients` and `--only http2-upstreams` compare messages that pass between Node's HTTP/2 and the proxy.
 * `--only properties` runs the other property tests that call `randomCases`, with their usual number of cases times
 * --cases / 5,000. `--record` keeps the runs that pass, except those of `properties`, for the page
 * docs/reference/conformance.md.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { fleetFaults, simulateFleets } from "../../gateway/src/counters/fleet/testing-scenarios.ts";
import { explainsAsTheProxyDoes, REQUESTS } from "../../gateway/src/explain/testing-differential.ts";
import { repositoryRoot, sourceFiles } from "../../tools/check/source-files.ts";
import { keepLongRun, type LongRun } from "../../tools/stages/long-runs.ts";
import { CASES_FACTOR, CASES_SEED } from "../../tools/stages/random-cases.ts";
import { readsAsNodeDoes, readsPiecesAsTheWhole } from "./http1/differential.ts";
import { stricterThanNode } from "./http1/stricter.ts";

const { values } = parseArgs({
  options: {
    cases: { type: "string", default: "100000" },
    seed: { type: "string" },
    only: { type: "string" },
    record: { type: "boolean", default: false },
  },
});
const { only } = values;

/** The tests of messages between Node's HTTP/2 and the proxy, with the number of requests that each sends in `npm test`. */
const http2Tests = {
  "http2-clients": {
    what: "node:http2 as the client of the proxy",
    file: "gateway/src/proxy/http2/http2.property.test.ts",
    usual: 3000,
  },
  "http2-upstreams": {
    what: "node:http2 as the upstream of the proxy",
    file: "gateway/src/proxy/http2/upstream/upstream.property.test.ts",
    usual: 3000,
  },
} as const;
const kinds: readonly string[] = ["parsers", "explain", "fleet", ...Object.keys(http2Tests), "properties"];
const cases = Number(values.cases);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
if (!Number.isSafeInteger(cases) || cases < 1 || !Number.isSafeInteger(seed)) {
  console.error("--cases must be a positive whole number, and --seed a whole number");
  process.exit(2);
}
if (only !== undefined && !kinds.includes(only)) {
  console.error(`--only must be one of ${kinds.join(", ")}`);
  process.exit(2);
}

const countsOf = (tally: ReadonlyMap<string, number>): string =>
  [...tally]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

const secondsSince = (began: number): string => ((performance.now() - began) / 1000).toFixed(1);

/** Keeps a run that has passed, if `--record` is given. */
function record(what: string, began: number, ran: number): void {
  const run: Omit<LongRun, "date" | "commit"> = { cases: ran, seed, seconds: Math.round(Number(secondsSince(began))) };
  if (values.record) keepLongRun(what, run);
}

function compareParsers(): void {
  const used = new Set<string>();
  for (const direction of ["requests", "responses"] as const) {
    const began = performance.now();
    const { agreed, stricter } = readsAsNodeDoes({ direction, cases, seed });
    readsPiecesAsTheWhole({ direction, cases: Math.ceil(cases / 3), seed });
    for (const name of stricter.keys()) used.add(name);
    console.log(`${direction}: ${cases} cases with seed ${seed} in ${secondsSince(began)} s`);
    console.log(`  ${agreed} messages accepted by both with equal results; stricter than Node: ${countsOf(stricter)}`);
    record(`the HTTP/1.1 parser of ${direction} against Node's parser`, began, cases);
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
  record("explanations of requests against what the proxy does", began, documents * REQUESTS);
}

function simulate(): void {
  for (const faults of fleetFaults) {
    const began = performance.now();
    const seeds = Math.ceil(cases / fleetFaults.length);
    const totals = simulateFleets({ faults, seeds, first: seed });
    console.log(`fleets (${faults}): ${seeds} simulations from seed ${seed} in ${secondsSince(began)} s`);
    console.log(`  ${countsOf(new Map(Object.entries(totals)))}`);
    record(`simulations of fleets (${faults})`, began, seeds);
  }
}

/** Runs test files with a multiple of their usual number of cases. A failure ends the process. */
function repeat(files: readonly string[], factor: number): void {
  const { status } = spawnSync(process.execPath, ["--test", ...files], {
    cwd: repositoryRoot,
    env: { ...process.env, [CASES_FACTOR]: String(factor), [CASES_SEED]: String(seed) },
    stdio: "inherit",
  });
  if (status !== 0) process.exit(1);
}

function compareHttp2(kind: keyof typeof http2Tests): void {
  const began = performance.now();
  const { what, file, usual } = http2Tests[kind];
  const factor = Math.ceil(cases / usual);
  repeat([file], factor);
  console.log(`${what}: ${factor * usual} requests with seed ${seed} in ${secondsSince(began)} s`);
  record(what, began, factor * usual);
}

function repeatProperties(): void {
  const began = performance.now();
  const others = new Set<string>(Object.values(http2Tests).map(({ file }) => file));
  const files = sourceFiles()
    .filter(({ path, text }) => path.endsWith(".test.ts") && /\brandomCases\(/.test(text) && !others.has(path))
    .map(({ path }) => path);
  const factor = Math.ceil(cases / 5000);
  repeat(files, factor);
  console.log(`property tests: ${factor} times their usual cases with seed ${seed} in ${secondsSince(began)} s`);
}

const isChosen = (kind: string): boolean => only === undefined || only === kind;
if (isChosen("parsers")) compareParsers();
if (isChosen("explain")) await compareExplanations();
if (isChosen("fleet")) simulate();
if (isChosen("http2-clients")) compareHttp2("http2-clients");
if (isChosen("http2-upstreams")) compareHttp2("http2-upstreams");
if (isChosen("properties")) repeatProperties();
