/** The cost of a request with few and with many routes. */
import type { BenchReport } from "../report.ts";
import type { CaseContestants } from "./field.ts";
import { startSluice } from "./sluice.ts";

export async function measureRoutes(field: CaseContestants): Promise<BenchReport> {
  for (const count of [10, 10_000, 100_000]) {
    const sluice = await field.start("sluice", (stage) => startSluice(stage, { routes: count }));
    field.enter(`${count} routes`, sluice);
  }
  return field.report({
    title: "10, 10,000 and 100,000 routes",
    method: "GET of a 100-byte JSON response through a route in the middle of the others, without plugins.",
    samples: await field.run(),
    ratios: [
      { name: "10,000 / 10 routes", of: "10000 routes", to: "10 routes", bound: 1.1 },
      { name: "100,000 / 10 routes", of: "100000 routes", to: "10 routes", bound: 1.1 },
    ],
  });
}
