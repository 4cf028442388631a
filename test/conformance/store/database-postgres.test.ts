import { after, before } from "node:test";
import { openPostgres } from "../../../gateway/src/database/postgres.ts";
import { type Postgres, startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { bootstrapDatabase, type DatabaseKeeper, describeDatabaseStore, holderOf } from "./database.ts";
import { describeDatabaseRevisions } from "./database-revisions.ts";
import { revisionsOfWrites } from "./revisions.ts";
import { describeStore } from "./suite.ts";

let server: Postgres;
let keeper: DatabaseKeeper;

async function keep(): Promise<DatabaseKeeper> {
  const { hostname: host, port, username: user, password } = new URL(server.url);
  const database = openPostgres({ host, port: Number(port), user, password, database: "postgres" });
  await bootstrapDatabase(database);
  return { database, close: () => database.close() };
}

before(async () => {
  server = await startPostgres();
  keeper = await keep();
});
after(async () => {
  await keeper.close();
  await server.stop();
});

describeStore(
  "Postgres",
  holderOf(() => keeper),
  revisionsOfWrites,
);
describeDatabaseStore("Postgres", keep);
describeDatabaseRevisions("Postgres", keep);
