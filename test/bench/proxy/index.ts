/** Runs the cases of `npm run bench -- proxy [case ...]`. */
import type { BenchReport } from "../report.ts";
import { measureBodies } from "./bodies.ts";
import { measureCache } from "./cache.ts";
import { measureChanges } from "./changes.ts";
import { measureCosts } from "./costs.ts";
import { CaseContestants, type CaseDuration } from "./field.ts";
import { measureFleetLimits } from "./fleet.ts";
import { measureGraphql } from "./graphql.ts";
import { measureGrpc } from "./grpc.ts";
import { measureH2 } from "./h2.ts";
import { measureHandshakes } from "./handshakes.ts";
import { measureIdle } from "./idle.ts";
import { measureNodeMemory } from "./memory.ts";
import { measurePlain } from "./plain.ts";
import { measurePlugins, measureTls } from "./plugins.ts";
import { measureRedis } from "./redis.ts";
import { measureRoutes } from "./routes.ts";
import { measureScraped } from "./scrape.ts";
import { createStage } from "./stage.ts";
import { measureTokens } from "./tokens.ts";
import { measureWebsocket } from "./websocket.ts";
import { measureWorkers } from "./workers.ts";

interface Case extends CaseDuration {
  readonly run: (field: CaseContestants) => Promise<BenchReport>;
}

/**
 * All cases take about half an hour. Most have many short rounds, because disturbances on a machine last about
 * half a minute.
 */
const cases = {
  plain: { run: measurePlain, rounds: 11, seconds: 2 },
  plugins: { run: measurePlugins, rounds: 11, seconds: 2 },
  tokens: { run: measureTokens, rounds: 5, seconds: 2 },
  costs: { run: measureCosts, rounds: 5, seconds: 2 },
  graphql: { run: measureGraphql, rounds: 9, seconds: 2 },
  tls: { run: measureTls, rounds: 11, seconds: 2 },
  h2: { run: measureH2, rounds: 5, seconds: 3 },
  grpc: { run: measureGrpc, rounds: 5, seconds: 3 },
  handshakes: { run: measureHandshakes, rounds: 5, seconds: 3 },
  workers: { run: measureWorkers, rounds: 5, seconds: 3 },
  routes: { run: measureRoutes, rounds: 5, seconds: 3 },
  bodies: { run: measureBodies, rounds: 3, seconds: 2 },
  websocket: { run: measureWebsocket, rounds: 5, seconds: 3 },
  redis: { run: measureRedis, rounds: 5, seconds: 2 },
  fleet: { run: measureFleetLimits, rounds: 5, seconds: 2 },
  cache: { run: measureCache, rounds: 7, seconds: 2 },
  changes: { run: measureChanges, rounds: 5, seconds: 3 },
  scrape: { run: measureScraped, rounds: 5, seconds: 3 },
  memory: { run: measureNodeMemory, rounds: 1, seconds: 3 },
  idle: { run: measureIdle, rounds: 1, seconds: 1 },
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
  effort: Partial<CaseDuration> = {},
): Promise<void> {
  const stage = await createStage();
  try {
    for (const name of chosen) {
      const { run, ...own } = cases[name];
      console.log(`\n${name}`);
      const report = await run(new CaseContestants(stage, { ...own, ...effort })).catch(
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
