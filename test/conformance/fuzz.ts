/**
 * Long runs of the differential tests: `npm run fuzz -- --cases 100000 --seed 7`. Without --seed each run uses a new
 * seed, which is printed. `--only parsers` compares the HTTP parsers with Node's, and then parses a third as many
 * random texts in pieces. `--only explain` compares explanations of requests with what the proxy does.
 */
import { parseArgs } from "node:util";
import { explainsAsTheProxyDoes, REQUESTS } from "../../gateway/src/explain/testing-differential.ts";
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
if (only !== undefined && only !== "parsers" && only !== "explain") {
  console.error("--only must be parsers or explain");
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

if (only !== "explain") compareParsers();
if (only !== "parsers") await compareExplanations();
