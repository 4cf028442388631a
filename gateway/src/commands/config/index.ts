/** The subcommands of `sluice config`, for declarative files. */
import { configSettings } from "../../settings/commands/config.ts";
import { registerConfiguredPlugins } from "../../settings/plugins.ts";
import { type Command, defineCommand } from "../command.ts";
import { exportFile, importFile } from "./import-export.ts";
import { initConfig } from "./init.ts";
import { type ConfigSubcommand, readDeclarative } from "./subcommand.ts";

/** Prints every error of a declarative file, and warns of members that have no effect. */
const parse: ConfigSubcommand = async ({ given, print }) => {
  const [file = ""] = given.positionals;
  await readDeclarative(file, { warn: (sentence) => print(`warning: ${sentence}\n`) });
  print("parse successful\n");
};

const commandOf = (run: ConfigSubcommand): Command =>
  defineCommand({
    settings: configSettings,
    ends: true,
    async run(call) {
      await registerConfiguredPlugins(call.settings, "schema");
      await run(call);
      return undefined;
    },
  });

export const configCommands = {
  init: commandOf(initConfig),
  parse: commandOf(parse),
  import: commandOf(importFile),
  export: commandOf(exportFile),
  // Loaded on demand: custom resources need the Kubernetes client, which is slow to load.
  convert: commandOf(async (call) => (await import("./convert.ts")).convertConfig(call)),
};
