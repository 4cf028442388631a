/** The `sluice migrations` command, with questions asked at the terminal. */
import { createInterface } from "node:readline/promises";
import { migrationsSettings } from "../settings/migrations.ts";
import { defineCommand } from "./command.ts";
import { migrationsArguments, migrationsUsage, runMigrations } from "./migrations.ts";

export const migrationsCommand = defineCommand({
  usage: migrationsUsage,
  arguments: migrationsArguments,
  settings: migrationsSettings,
  ends: true,
  run: ({ given, print }) =>
    runMigrations({
      given,
      env: process.env,
      print: (line) => print(`${line}\n`),
      printFault: (line) => void process.stderr.write(`${line}\n`),
      ask: process.stdin.isTTY ? ask : undefined,
    }),
});

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}
