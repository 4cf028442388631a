#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --min-semi-space-size=8 --max-semi-space-size=8
/**
 * Command `sluice`.
 *
 * The young generation begins with two halves of 8 MB, and stays so. A proxy makes garbage with every request: with V8's
 * small beginning collections took a fifth of its CPU, with 4 MB they took three times what they take with 8, with 16
 * the same as with 8. Without an end it grows to 32 while a document is taken over, in which all stays, and remains so.
 *
 * Threads share two of malloc's arenas: with one for each, what V8's compilers have used stays in all of them (about 10 MB
 * with one worker, 20 MB with several).
 */
import { readArguments } from "@sluice/model/serving";
import type { Command } from "./commands/command.ts";
import { version } from "./version.ts";

interface Listed {
  readonly summary: string;
  /** What a command runs is loaded by it alone: a node has no use for a Kubernetes client, nor for the memory it takes. */
  readonly load: () => Promise<{ readonly command: Command }>;
}

const commands: Readonly<Record<string, Listed>> = {
  start: {
    summary: "a node and the admin API in one process, over a database or a declarative file",
    load: () => import("./commands/start.ts"),
  },
  gateway: {
    summary: "a node: takes clients' requests, and documents from the operator, a database or a file",
    load: () => import("./commands/gateway.ts"),
  },
  admin: {
    summary: "the admin listener: Kong's admin API, over custom resources, a database or a file",
    load: () => import("./commands/admin.ts"),
  },
  migrations: {
    summary: "makes and changes the tables of the database",
    load: () => import("./commands/migrations-command.ts"),
  },
  config: {
    summary: "checks, converts, imports and exports declarative files",
    load: () => import("./commands/config/index.ts"),
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
  const [{ runCommand }, { command }] = await Promise.all([import("./commands/run.ts"), listed.load()]);
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
