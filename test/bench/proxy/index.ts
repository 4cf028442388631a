/** Runs the cases of `npm run bench -- proxy [case ...]`. */
import type { BenchReport } from "../report.ts";
import { bodies } from "./bodies.ts";
import { cache } from "./cache.ts";
import { changes } from "./changes.ts";
import { costs } from "./costs.ts";
import { type Effort, Field } from "./field.ts";
import { h2 } from "./h2.ts";
import { idle } from "./idle.ts";
import { memory } from "./memory.ts";
import { plain } from "./plain.ts";
import { plugins, tls } from "./plugins.ts";
import { redis } from "./redis.ts";
import { routes } from "./routes.ts";
import { scraped } from "./scrape.ts";
import { createStage } from "./stage.ts";
import { tokens } from "./tokens.ts";
import { websocket } from "./websocket.ts";

interface Case extends Effort {
  readonly run: (field: Field) => Promise<BenchReport>;
}

/**
 * All cases take about twenty-five minutes. Most have many short rounds, because disturbances on a machine last about
 * half a minute.
 */
const cases = {
  plain: { run: plain, rounds: 11, seconds: 2 },
  plugins: { run: plugins, rounds: 11, seconds: 2 },
  tokens: { run: tokens, rounds: 5, seconds: 2 },
  costs: { run: costs, rounds: 5, seconds: 2 },
  tls: { run: tls, rounds: 11, seconds: 2 },
  h2: { run: h2, rounds: 5, seconds: 3 },
  routes: { run: routes, rounds: 5, seconds: 3 },
  bodies: { run: bodies, rounds: 3, seconds: 2 },
  websocket: { run: websocket, rounds: 5, seconds: 3 },
  redis: { run: redis, rounds: 5, seconds: 2 },
  cache: { run: cache, rounds: 7, seconds: 2 },
  changes: { run: changes, rounds: 5, seconds: 3 },
  scrape: { run: scraped, rounds: 5, seconds: 3 },
  memory: { run: memory, rounds: 1, seconds: 3 },
  idle: { run: idle, rounds: 1, seconds: 1 },
} satisfies Record<string, Case>;

export type ProxyCase = keyof typeof cases;

export const proxyCases = Object.keys(cases) as readonly ProxyCase[];

/**
 * Runs cases in order and passes on each report when it is complete. The report of a case that cannot be measured
 * contains the reason, and the other cases still run.
 *
 * @param effort Overrides the effort of each case.
 */
export async function benchProxy(
  chosen: readonly ProxyCase[],
  onReport: (name: ProxyCase, report: BenchReport) => void,
  effort: Partial<Effort> = {},
): Promise<void> {
  const stage = await createStage();
  try {
    for (const name of chosen) {
      const { run, ...own } = cases[name];
      console.log(`\n${name}`);
      const report = await run(new Field(stage, { ...own, ...effort })).catch(
        (error: unknown): BenchReport => ({
          title: name,
          method: "NOT MEASURED.",
          rows: [],
          verdicts: [error instanceof Error ? error.message : String(error)],
        }),
      );
      onReport(name, report);
      await stage.clear();
    }
  } finally {
    await stage.close();
  }
}
