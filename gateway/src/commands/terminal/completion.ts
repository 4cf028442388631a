/** `sluice completion`: prints a script for a shell. */
import { type CommandDefinition, type CompletionShell, completionScript } from "@sluice/model/command-line";
import { type Command, defineCommand } from "../command.ts";

export const completionCommand = (program: CommandDefinition<Command>): Command =>
  defineCommand({
    settings: {},
    ends: true,
    async run({ given, print }) {
      const [shell] = given.positionals;
      print(await completionScript(shell as CompletionShell, program));
      return undefined;
    },
  });
