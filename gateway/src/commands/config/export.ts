/** `sluice config export`: all entities of a store as a declarative file. */

import { declarativeText } from "../../stores/file/export.ts";
import { openStore } from "../../stores/open.ts";
import { readAll } from "../../stores/read-all.ts";
import type { ConfigSubcommand } from "./subcommand.ts";
import { storeSettings } from "./subcommand.ts";
import { writeNew } from "./write-new.ts";

export const exportFile: ConfigSubcommand = async ({ given, settings, log, print }) => {
  const [file = "sluice.yml"] = given.positionals;
  const opened = await openStore(storeSettings({ ...settings, fileWritable: false }), log);
  try {
    const text = declarativeText(await readAll(opened.store));
    if (file === "-") return print(text);
    await writeNew(file, text);
    print(`${file} is written\n`);
  } finally {
    await opened.close();
  }
};
