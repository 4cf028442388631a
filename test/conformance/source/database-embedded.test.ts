import { openEmbedded } from "../../../gateway/src/database/embedded/embedded.ts";
import { bootstrapTables } from "../../../gateway/src/database/migrate.ts";
import { describeDatabaseSource } from "./database.ts";

describeDatabaseSource("the embedded database", async () => {
  const database = await openEmbedded();
  await bootstrapTables(database);
  return { database, close: () => database.close() };
});
