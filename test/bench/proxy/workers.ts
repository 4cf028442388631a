/** The throughput of one worker and of two workers. */
import { availableParallelism } from "node:os";
import type { BenchReport } from "../report.ts";
import type { CaseContestants } from "./field.ts";
import { startSluice } from "./sluice.ts";

/** Two workers, the load generator and the upstream, with a core each. */
const CORES = 4;

export async function measureWorkers(field: CaseContestants): Promise<BenchReport> {
  for (const [name, workers] of [
    ["one worker", "1"],
    ["two workers", "2"],
  ] as const) {
    const env = { SLUICE_WORKERS: workers };
    field.enter(name, await field.start("sluice", (stage) => startSluice(stage, { routes: 10 }, env)));
  }
  const cores = availableParallelism();
  const bounds = cores >= CORES ? { bound: 1.8 } : {};
  if (cores < CORES) {
    field.note(
      `this machine has ${cores} cores, which the workers share with the load generator and the upstream: the ` +
        "throughput does not show what two workers can do, and has no bound",
    );
  }
  return field.report({
    title: "Two workers",
    method:
      "GET of a 100-byte JSON response; ten routes, no plugins. The workers share the cores with the load generator and " +
      `the upstream. With ${CORES} cores or more, two workers should answer 1.8 times as many requests as one; with ` +
      "fewer cores, compare CPU per request.",
    samples: await field.run(),
    ratios: [
      { name: "requests/s, two workers / one", of: "two workers", to: "one worker", figure: "perSecond", ...bounds },
      { name: "CPU per request, two workers / one", of: "two workers", to: "one worker", bound: 1.15 },
    ],
  });
}
