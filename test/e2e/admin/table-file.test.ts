import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { createFileSource } from "../../../gateway/src/sources/file/file-source.ts";
import { createIntake } from "../../../gateway/src/sources/intake.ts";
import { createFileStore } from "../../../gateway/src/stores/file/index.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { adminOver, withoutNodes } from "../../conformance/admin/over.ts";
import { describeAdmin } from "../../conformance/admin/suite.ts";

describeAdmin("a file that may be written", async () => {
  const folder = temporaryFolder("table-file");
  const file = join(folder.path, "sluice.yml");
  writeFileSync(file, '_format_version: "3.0"\n');
  const log = pino({ level: "silent" });
  const source = createFileSource({ file, log, keepContent: true });
  await source.start(createIntake({ node: "n", version: "0", serve() {} }));
  const store = createFileStore({ file, source, writable: true, programmed: async () => null, log });
  return adminOver({
    ...withoutNodes(store),
    async close() {
      await source.stop();
      folder.remove();
    },
  });
});
