import { openPostgres } from "../../../gateway/src/database/postgres.ts";
import { createDatabaseStore } from "../../../gateway/src/stores/database/index.ts";
import { startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { adminOver, withoutNodes } from "../../conformance/admin/over.ts";
import { describeAdmin } from "../../conformance/admin/suite.ts";
import { bootstrapDatabase } from "../../conformance/store/database.ts";

describeAdmin(
  "Postgres",
  async () => {
    const server = await startPostgres();
    const { hostname: host, port, username: user, password } = new URL(server.url);
    const database = openPostgres({ host, port: Number(port), user, password, database: "postgres" });
    await bootstrapDatabase(database);
    const store = createDatabaseStore(database, async () => null);
    return adminOver({
      ...withoutNodes(store),
      async close() {
        await database.close();
        await server.stop();
      },
    });
  },
  { database: true },
);
