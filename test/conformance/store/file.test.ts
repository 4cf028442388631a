import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { createFileSource } from "../../../gateway/src/sources/file/file-source.ts";
import { createIntake } from "../../../gateway/src/sources/intake.ts";
import { createFileStore } from "../../../gateway/src/stores/file/index.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { revisionsOfWrites } from "./revisions.ts";
import { describeStore } from "./suite.ts";

for (const [name, text] of [
  ["a YAML file", '# ours\n_format_version: "3.0"\n'],
  ["a JSON file", '{\n  "_format_version": "3.0"\n}\n'],
] as const) {
  describeStore(
    name,
    async () => {
      const folder = temporaryFolder("file-store");
      const file = join(folder.path, "sluice.yml");
      writeFileSync(file, text);
      const log = pino({ level: "silent" });
      const source = createFileSource({ file, log, keepContent: true });
      await source.start(createIntake({ node: "n", version: "0", serve() {} }));
      // Only one store may write a file, so `open` always returns this store.
      const store = createFileStore({ file, source, writable: true, programmed: async () => null, log });
      return {
        open: () => store,
        async close() {
          await source.stop();
          folder.remove();
        },
      };
    },
    revisionsOfWrites,
  );
}
