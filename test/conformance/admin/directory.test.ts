import { temporaryFolder } from "../../../tools/process/index.ts";
import { adminOver, openWith } from "./over.ts";
import { describeAdmin } from "./suite.ts";

describeAdmin("a directory", async () => {
  const folder = temporaryFolder("admin-table");
  const opened = await openWith({ SLUICE_STORE: "directory", SLUICE_DIRECTORY: folder.path });
  const holder = await adminOver(opened);
  return {
    ask: holder.ask,
    async close() {
      await holder.close();
      folder.remove();
    },
  };
});
