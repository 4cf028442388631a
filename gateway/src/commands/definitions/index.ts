/** All commands of `sluice`. Their code is loaded on demand, so that a node needs no memory for other commands. */
import type { CompletionShell } from "@sluice/model/command-line";
import { defineCommand } from "../command.ts";
import { clientCommands } from "./client.ts";
import { configurationCommands } from "./configuration.ts";
import { outputOptions } from "./options.ts";
import { processCommands } from "./processes.ts";
import { requestCommands } from "./requests.ts";
import type { SluiceCommand } from "./sluice-command.ts";

const commands: readonly SluiceCommand[] = [...processCommands, ...configurationCommands];

/** `sluice settings COMMAND` for a command, or for a group of commands with the same settings. */
function settingsOf({ name, load, subcommands }: SluiceCommand): SluiceCommand {
  const loadCommand = load ?? subcommands?.[0]?.load;
  return {
    name,
    summary: `the settings of \`sluice ${name}\``,
    options: outputOptions("table", "yaml", "json"),
    examples: [{ line: `sluice settings ${name} -o yaml`, effect: "prints the settings as YAML" }],
    async load() {
      const { settingsCommand } = await import("../settings.ts");
      return settingsCommand((await loadCommand?.())?.settings ?? {});
    },
  };
}

const [start] = processCommands.map(settingsOf);

const settings: SluiceCommand = {
  ...start,
  name: "settings",
  summary: "prints the settings of a command, with their values and the source of each value",
  description:
    "A value comes from a flag, an environment variable, the settings file or the default, in this order. Without a " +
    "COMMAND the settings are those of `sluice start`. Secrets are redacted. If a setting is invalid, the command " +
    "prints all errors and exits with 1.",
  examples: [
    { line: "sluice settings", effect: "the settings of `sluice start`" },
    { line: "sluice settings gateway --settings node.yml", effect: "checks a settings file for a node" },
  ],
  subcommands: commands.map(settingsOf),
};

const completion: SluiceCommand = {
  name: "completion",
  summary: "prints a script that completes commands, options and values in a shell",
  arguments: [{ name: "SHELL", choices: ["bash", "zsh", "fish"], description: "The shell that reads the script." }],
  examples: [
    { line: 'eval "$(sluice completion bash)"', effect: "in ~/.bashrc" },
    { line: 'eval "$(sluice completion zsh)"', effect: "in ~/.zshrc, after compinit" },
    { line: "sluice completion fish | source", effect: "in ~/.config/fish/config.fish" },
  ],
  async load() {
    const { completionScript } = await import("@sluice/model/command-line");
    return defineCommand({
      settings: {},
      ends: true,
      async run({ given, print }) {
        const [shell] = given.positionals;
        print(await completionScript(shell as CompletionShell, sluice));
        return undefined;
      },
    });
  },
};

const printVersion: SluiceCommand = {
  name: "version",
  summary: "prints the version",
  examples: [{ line: "sluice version", effect: "the version of this command, as `sluice --version` prints it" }],
  async load() {
    const { sluiceVersion: version } = await import("../../settings/version.ts");
    return defineCommand({
      settings: {},
      ends: true,
      async run({ print }) {
        print(`${version}\n`);
        return undefined;
      },
    });
  },
};

export const sluice: SluiceCommand = {
  name: "sluice",
  summary: "an API gateway, and its command line",
  description:
    "Every setting of a command is an environment variable, a member of the file that --settings names and, unless it " +
    "is a secret, a flag. A flag overrides a variable, and a variable overrides the file.",
  examples: [
    { line: "sluice start", effect: "runs a node and the admin API" },
    { line: "sluice help start", effect: "prints the settings of a command, as `sluice start --help` does" },
  ],
  subcommands: [...commands, ...requestCommands, ...clientCommands, settings, completion, printVersion],
};
