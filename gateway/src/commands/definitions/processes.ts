/** The commands that keep running: a node, the admin API, and both. */
import type { SluiceCommand } from "./sluice-command.ts";

const closesOnSignal = "The process drains and exits at the first SIGTERM or SIGINT.";

export const processCommands: readonly SluiceCommand[] = [
  {
    name: "start",
    summary: "runs a node and the admin API in one process, backed by a database or a declarative file",
    description: closesOnSignal,
    examples: [
      { line: "sluice start", effect: "with the embedded database in ./sluice-database" },
      {
        line: "sluice start --store file --file sluice.yml",
        effect: "with a declarative file, which is reloaded when it changes",
      },
    ],
    load: async () => (await import("../start.ts")).startCommand,
  },
  {
    name: "gateway",
    summary: "runs a node, which the operator, a database or a file configures",
    description: `A node serves clients' requests. ${closesOnSignal}`,
    examples: [
      { line: "sluice gateway --source file --file sluice.yml", effect: "configured by a declarative file" },
      { line: "sluice gateway --settings node.yml", effect: "with the settings in a file" },
    ],
    load: async () => (await import("../gateway.ts")).gatewayCommand,
  },
  {
    name: "admin",
    summary: "runs the admin listener: Kong's admin API, backed by custom resources, a database or a file",
    description: closesOnSignal,
    examples: [
      {
        line: "sluice admin --store directory --directory ./resources",
        effect: "backed by custom resources in a folder",
      },
    ],
    load: async () => (await import("../admin.ts")).adminCommand,
  },
  {
    name: "dev",
    summary: "runs a node with a plugin, and loads the plugin again after each save",
    description: "If a saved plugin has an error, the error is printed, and the previous code stays active.",
    options: {
      plugin: {
        value: "FOLDER",
        required: true,
        description: "The plugin, in addition to those of SLUICE_PLUGINS.",
      },
      file: {
        value: "FILE",
        description:
          "A declarative file. Without it the plugin applies, with its defaults, to a service that answers with the " +
          "request as JSON.",
      },
    },
    examples: [{ line: "sluice dev --plugin ./my-plugin", effect: "tries the plugin of this folder" }],
    load: async () => (await import("../dev.ts")).devCommand,
  },
];
