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

Settings are environment variables; docs/reference/settings.md lists them.
`;

const [, , name = "", ...words] = process.argv;
if (name === "version") process.stdout.write(`${version}\n`);
else if (Object.hasOwn(commands, name)) {
  const [{ runCommand }, loaded] = await Promise.all([import("./commands/run.ts"), commands[name]?.load()]);
  if (loaded) await runCommand(loaded.command, words);
} else {
  const isAsked = ["help", "--help", "-h"].includes(name);
  (isAsked ? process.stdout : process.stderr).write(usage);
  process.exitCode = isAsked ? 0 : 2;
}
