/**
 * A long run of the differential test: `node test/conformance/http1/fuzz.ts --cases 100000 --seed 7`. Without --seed
 * each run uses a new seed, which is printed. Then random texts, a third as many, are parsed in pieces.
 */
import { parseArgs } from "node:util";
import { readsAsNodeDoes, readsPiecesAsTheWhole } from "./differential.ts";
import { stricterThanNode } from "./stricter.ts";

const { values } = parseArgs({
  options: { cases: { type: "string", default: "100000" }, seed: { type: "string" } },
});
const cases = Number(values.cases);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
if (!Number.isSafeInteger(cases) || cases < 1 || !Number.isSafeInteger(seed)) {
  console.error("--cases must be a positive whole number, and --seed a whole number");
  process.exit(2);
}
const used = new Set<string>();
for (const direction of ["requests", "responses"] as const) {
  const began = performance.now();
  const { agreed, stricter } = readsAsNodeDoes({ direction, cases, seed });
  readsPiecesAsTheWhole({ direction, cases: Math.ceil(cases / 3), seed });
  for (const name of stricter.keys()) used.add(name);
  const counts = [...stricter].toSorted(([, a], [, b]) => b - a).map(([name, count]) => `${name} ${count}`);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${direction}: ${cases} cases with seed ${seed} in ${seconds} s`);
  console.log(`  ${agreed} messages accepted by both with equal results; stricter than Node: ${counts.join(", ")}`);
}
const idle = Object.keys(stricterThanNode).filter((name) => !used.has(name));
if (idle.length > 0) console.log(`rules that no case needed: ${idle.join(", ")}`);
