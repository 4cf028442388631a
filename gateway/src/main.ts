#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --min-semi-space-size=8 --max-semi-space-size=8
/**
 * Command `sluice`.
 *
 * The young generation has two fixed semi-spaces of 8 MB. A proxy creates garbage with every request: with V8's small
 * initial size, garbage collection used a fifth of the CPU; with 4 MB it used three times as much as with 8 MB, and 16
 * MB was no better than 8 MB. Without a maximum, V8 grows the semi-spaces to 32 MB while a document is applied, because
 * all of its objects survive, and never shrinks them.
 *
 * Threads share two malloc arenas: with one arena per thread, memory that V8's compilers used stays in every arena
 * (about 10 MB with one worker, 20 MB with several).
 */
import { readArguments } from "@sluice/model/serving";
import type { Command } from "./commands/command.ts";
import { version } from "./settings/version.ts";

interface Listed {
  readonly summary: string;
  /** Each command loads its own modules: a node does not need the memory of a Kubernetes client. */
  readonly load: () => Promise<Command>;
}

const commands: Readonly<Record<string, Listed>> = {
  start: {
    summary: "runs a node and the admin API in one process, over a database or a declarative file",
    load: async () => (await import("./commands/start.ts")).startCommand,
  },
  gateway: {
    summary: "runs a node, which the operator, a database or a file configures",
    load: async () => (await import("./commands/gateway.ts")).gatewayCommand,
  },
  admin: {
    summary: "runs the admin listener: Kong's admin API, over custom resources, a database or a file",
    load: async () => (await import("./commands/admin.ts")).adminCommand,
  },
  migrations: {
    summary: "creates and migrates the tables of the database",
    load: async () => (await import("./commands/migrations.ts")).migrationsCommand,
  },
  config: {
    summary: "checks, converts, imports and exports declarative files",
    load: async () => (await import("./commands/config/index.ts")).configCommand,
  },
  migrate: {
    summary: "reports which part of a Kong configuration is served, and converts that part",
    load: async () => (await import("./commands/migrate/index.ts")).migrateCommand,
  },
  dev: {
    summary: "runs a node with a plugin, and loads the plugin again after each save",
    load: async () => (await import("./commands/dev.ts")).devCommand,
  },
  plugin: {
    summary: "writes the package of a new plugin",
    load: async () => (await import("./commands/plugin/index.ts")).pluginCommand,
  },
};

const usage = `usage: sluice COMMAND

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(11)}${summary}`)
  .join("\n")}
  version    prints the version

'sluice COMMAND --help' lists the settings of a command, which are environment variables.
`;

const [given = "", ...rest] = process.argv.slice(2);
// `sluice help start` is `sluice start --help`.
const [name = "", ...args] = given === "help" && rest.length > 0 ? [...rest, "--help"] : [given, ...rest];
const listed = Object.hasOwn(commands, name) ? commands[name] : undefined;
if (listed) {
  const [{ runCommand }, command] = await Promise.all([import("./commands/run.ts"), listed.load()]);
  await runCommand(command, { name: `sluice ${name}`, args });
} else {
  const read = readArguments(name === "" ? [] : [name, ...args], {
    subcommands: { ...Object.fromEntries(Object.keys(commands).map((one) => [one, {}])), help: {}, version: {} },
  });
  const asksForVersion = read.kind === "version" || (read.kind === "given" && read.subcommands[0] === "version");
  if (asksForVersion) process.stdout.write(`${version}\n`);
  else if (read.kind === "help" || read.kind === "given") process.stdout.write(usage);
  else {
    process.stderr.write(read.kind === "invalid" ? `sluice: ${read.message}\nTry 'sluice --help'.\n` : usage);
    process.exitCode = 2;
  }
}
