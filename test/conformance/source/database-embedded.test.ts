import { openEmbedded } from "../../../gateway/src/database/embedded/embedded.ts";
import { bootstrap } from "../../../gateway/src/database/migrate.ts";
import { describeDatabaseSource } from "./database.ts";

describeDatabaseSource("the embedded database", async () => {
  const database = await openEmbedded();
  await bootstrap(database);
  return { database, close: () => database.close() };
});
