import { after, before } from "node:test";
import type { Database } from "../../../gateway/src/database/driver.ts";
import { openEmbedded } from "../../../gateway/src/database/embedded/embedded.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { withNodeDatabase } from "../../../tools/programs/servers/embedded-database.ts";
import { bootstrapDatabase, type DatabaseKeeper, describeDatabaseStore, holderOf } from "./database.ts";
import { describeDatabaseRevisions } from "./database-revisions.ts";
import { revisionsOfWrites } from "./revisions.ts";
import { describeStore } from "./suite.ts";

let database: Database;
before(async () => {
  database = await bootstrapDatabase(await openEmbedded());
});
after(() => database.close());

/** All suites use one database, because creating one in memory takes 5 s of processor time. */
const keep = async (): Promise<DatabaseKeeper> => ({ database, close: async () => undefined });

async function keepAnother(): Promise<DatabaseKeeper> {
  const folder = temporaryFolder("store");
  const another = await openEmbedded({ folder: await withNodeDatabase(folder.path) });
  return { database: another, close: () => another.close().finally(folder.remove) };
}

describeStore(
  "the embedded database",
  holderOf(() => ({ database })),
  revisionsOfWrites,
);
describeDatabaseStore("the embedded database", keep, keepAnother);
describeDatabaseRevisions("the embedded database", keep);
