import { after, before } from "node:test";
import { openEmbedded } from "../../../gateway/src/database/embedded/embedded.ts";
import { bootstrapped, type DatabaseKeeper, describeDatabaseStore, holderOf } from "./database.ts";
import { describeDatabaseRevisions } from "./database-revisions.ts";
import { revisionsOfWrites } from "./revisions.ts";
import { describeStore } from "./suite.ts";

async function keep(): Promise<DatabaseKeeper> {
  const database = await bootstrapped(await openEmbedded());
  return { database, close: () => database.close() };
}

let keeper: DatabaseKeeper;
before(async () => {
  keeper = await keep();
});
after(() => keeper.close());

describeStore(
  "the embedded database",
  holderOf(() => keeper),
  revisionsOfWrites,
);
describeDatabaseStore("the embedded database", keep);
describeDatabaseRevisions("the embedded database", keep);
