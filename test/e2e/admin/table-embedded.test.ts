import { openEmbedded } from "../../../gateway/src/database/embedded/embedded.ts";
import { createDatabaseStore } from "../../../gateway/src/stores/database/index.ts";
import { adminOver, withoutNodes } from "../../conformance/admin/over.ts";
import { describeAdmin } from "../../conformance/admin/suite.ts";
import { bootstrapDatabase } from "../../conformance/store/database.ts";

describeAdmin(
  "the embedded database",
  async () => {
    const database = await bootstrapDatabase(await openEmbedded());
    const store = createDatabaseStore(database, async () => null);
    return adminOver({ ...withoutNodes(store), close: () => database.close() });
  },
  { database: true },
);
