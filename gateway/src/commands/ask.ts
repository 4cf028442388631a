/** Questions on a terminal. */
import { createInterface } from "node:readline/promises";
import { CommandError } from "./command.ts";

export async function askOnTerminal(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

export const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim());

/** Whether the user confirms. @throws CommandError without a terminal. */
export async function isConfirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new CommandError("cannot ask without a terminal: confirm with --yes");
  return isYes(await askOnTerminal(`${question} [y/N] `));
}
