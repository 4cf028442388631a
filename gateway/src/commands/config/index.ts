/** `sluice config`: subcommands for declarative files. */
import type { CommandArguments } from "@sluice/model/serving";
import { configSettings } from "../../settings/config.ts";
import { registerConfiguredPlugins } from "../../settings/plugins.ts";
import { defineCommand } from "../command.ts";
import { exportFile, importFile } from "./import-export.ts";
import { init } from "./init.ts";
import { type ConfigSubcommand, readDeclarative } from "./subcommand.ts";

interface Listed {
  readonly usage: string;
  readonly arguments: CommandArguments;
  readonly summary: string;
  readonly run: ConfigSubcommand;
}

/** Prints every error of a declarative file, and warns of members that have no effect. */
const parse: ConfigSubcommand = async ({ given, print }) => {
  const [file = ""] = given.positionals;
  await readDeclarative(file, { warn: (sentence) => print(`warning: ${sentence}\n`) });
  print("parse successful\n");
};

const subcommands: Readonly<Record<string, Listed>> = {
  init: {
    usage: "init [FILE]",
    arguments: { positionals: ["[FILE]"] },
    summary: "writes an example file (default ./sluice.yml)",
    run: init,
  },
  parse: {
    usage: "parse FILE",
    arguments: { positionals: ["FILE"] },
    summary: "reports every error in a file with its position",
    run: parse,
  },
  import: {
    usage: "import FILE",
    arguments: { positionals: ["FILE"] },
    summary: "creates and updates the file's entities in the store; deletes nothing (also: db_import)",
    run: importFile,
  },
  export: {
    usage: "export [FILE]",
    arguments: { positionals: ["[FILE]"] },
    summary: "writes all entities to a file (default ./sluice.yml, - for standard output; also: db_export)",
    run: exportFile,
  },
  convert: {
    usage: "convert FILE|FOLDER --to custom-resources|declarative [--out FOLDER|FILE]",
    arguments: { positionals: ["FILE|FOLDER"], options: { to: { type: "string" }, out: { type: "string" } } },
    summary: "converts a declarative file to custom resources, or a folder of custom resources to a declarative file",
    // Loaded on demand: custom resources need the Kubernetes client, which is slow to load.
    run: async (call) => (await import("./convert.ts")).convert(call),
  },
};

const aliases: Readonly<Record<string, string>> = { db_import: "import", db_export: "export" };

const usage = `usage: sluice config COMMAND

${Object.values(subcommands)
  .map(({ usage, summary }) => `  ${usage}\n      ${summary}`)
  .join("\n")}

import and export use the store that SLUICE_STORE selects.
`;

const nameOf = (given: string): string => (Object.hasOwn(aliases, given) ? (aliases[given] ?? "") : given);

export const configCommand = defineCommand({
  usage,
  arguments: {
    subcommands: Object.fromEntries(
      [...Object.keys(subcommands), ...Object.keys(aliases)].map((name) => [
        name,
        subcommands[nameOf(name)]?.arguments ?? {},
      ]),
    ),
  },
  settings: configSettings,
  ends: true,
  async run(call) {
    await registerConfiguredPlugins(call.settings, "schema");
    const [given = ""] = call.given.subcommands;
    await subcommands[nameOf(given)]?.run(call);
    return undefined;
  },
});
