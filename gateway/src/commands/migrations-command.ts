/** `sluice migrations` at a terminal. */
import { createInterface } from "node:readline/promises";
import { databaseSettings } from "../settings/database.ts";
import { logLevel } from "../settings/gateway.ts";
import { defineCommand } from "./command.ts";
import { runMigrations } from "./migrations.ts";

export const command = defineCommand({
  settings: { ...databaseSettings, logLevel },
  ends: true,
  run: ({ words, print }) =>
    runMigrations({
      args: words,
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
