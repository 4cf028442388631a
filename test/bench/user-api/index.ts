/** Runs the cases of `npm run bench -- user-api [case ...]`. */
import { temporaryFolder } from "../../../tools/process/index.ts";
import { startPostgres } from "../../../tools/programs/servers/postgres.ts";
import type { CaseDuration } from "../proxy/field.ts";
import type { BenchReport } from "../report.ts";
import { fillDirectory } from "./directory.ts";
import { measureUser, measureUsers } from "./queries.ts";
import { measureSubscriptions } from "./subscriptions.ts";

/** The environment of a case. */
export interface UserApiStage {
  /** URL of a database with users and posts (directory.ts). */
  readonly databaseUrl: string;
  /** The id of one of the users in that database. */
  readonly userId: string;
  readonly folder: string;
  readonly effort: CaseDuration;
}

interface Case extends CaseDuration {
  readonly run: (scene: UserApiStage) => Promise<BenchReport>;
}

/** All cases together take about six minutes. */
const cases = {
  users: { run: measureUsers, rounds: 7, seconds: 4 },
  user: { run: measureUser, rounds: 7, seconds: 4 },
  subscriptions: { run: measureSubscriptions, rounds: 9, seconds: 0 },
} satisfies Record<string, Case>;

export type UserApiCase = keyof typeof cases;
export const userApiCases = Object.keys(cases) as readonly UserApiCase[];

/** @param effort Overrides the effort of each case. */
export async function benchUserApi(
  chosen: readonly UserApiCase[],
  onReport: (name: UserApiCase, report: BenchReport) => void,
  effort: Partial<CaseDuration> = {},
): Promise<void> {
  const folder = temporaryFolder("bench-user-api");
  try {
    for (const name of chosen) {
      const { run, ...own } = cases[name];
      console.log(`\n${name}`);
      // Each case gets a new database, because the case `subscriptions` creates users.
      const postgres = await startPostgres();
      try {
        const userId = await fillDirectory(postgres.url);
        const scene = { databaseUrl: postgres.url, userId, folder: folder.path, effort: { ...own, ...effort } };
        onReport(name, await run(scene));
      } finally {
        await postgres.stop();
      }
    }
  } finally {
    folder.remove();
  }
}
