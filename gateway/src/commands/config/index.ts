/** `sluice config`: subcommands for declarative files. */
import type { CommandArguments } from "@sluice/model/serving";
import { configSettings } from "../../settings/config.ts";
import { defineCommand } from "../command.ts";
import { exportFile } from "./export.ts";
import { importFile } from "./import.ts";
import { init } from "./init.ts";
import { parse } from "./parse.ts";
import type { ConfigSubcommand } from "./part.ts";

interface Listed {
  readonly usage: string;
  readonly arguments: CommandArguments;
  readonly summary: string;
  readonly part: ConfigSubcommand;
}

const parts: Readonly<Record<string, Listed>> = {
  init: {
    usage: "init [FILE]",
    arguments: { positionals: ["[FILE]"] },
    summary: "writes an example, ./sluice.yml unless named",
    part: init,
  },
  parse: {
    usage: "parse FILE",
    arguments: { positionals: ["FILE"] },
    summary: "reports every error in a file with its position",
    part: parse,
  },
  import: {
    usage: "import FILE",
    arguments: { positionals: ["FILE"] },
    summary: "creates and changes what the file says; deletes nothing (also: db_import)",
    part: importFile,
  },
  export: {
    usage: "export [FILE]",
    arguments: { positionals: ["[FILE]"] },
    summary: "writes all entities to a file, ./sluice.yml unless named, - for the terminal (also: db_export)",
    part: exportFile,
  },
  convert: {
    usage: "convert FILE|FOLDER --to custom-resources|declarative [--out FOLDER|FILE]",
    arguments: { positionals: ["FILE|FOLDER"], options: { to: { type: "string" }, out: { type: "string" } } },
    summary: "turns a declarative file into custom resources, or a folder of them into a file",
    // Loaded on demand: custom resources need the Kubernetes client, which is slow to load.
    part: async (call) => (await import("./convert.ts")).convert(call),
  },
};

/** Kong's names for these subcommands. */
const aliases: Readonly<Record<string, string>> = { db_import: "import", db_export: "export" };

const usage = `usage: sluice config COMMAND

${Object.values(parts)
  .map(({ usage, summary }) => `  ${usage}\n      ${summary}`)
  .join("\n")}

import and export work on the store that SLUICE_STORE names.
`;

const nameOf = (given: string): string => (Object.hasOwn(aliases, given) ? (aliases[given] ?? "") : given);

export const configCommand = defineCommand({
  usage,
  arguments: {
    subcommands: Object.fromEntries(
      [...Object.keys(parts), ...Object.keys(aliases)].map((name) => [name, parts[nameOf(name)]?.arguments ?? {}]),
    ),
  },
  settings: configSettings,
  ends: true,
  async run(call) {
    const [given = ""] = call.given.subcommands;
    await parts[nameOf(given)]?.part(call);
    return undefined;
  },
});
