/** The reference page of the command lines, from the definitions of their commands. */
import { describeCommands, describeExitCodes } from "../../../crds/model/src/command-line/describe.ts";
import { type GeneratedFile, generatedPage } from "../../../crds/model/src/generate/files.ts";
import { sluice } from "../../../gateway/src/commands/definitions/index.ts";
import { operatorProgram } from "../../../operator/src/commands/definition.ts";

const introduction = `# Command line

\`--help\` of each command prints its part of this page, and the command's [settings](settings.md), each of which is also a flag unless it is a secret. \`--version\` prints the version. Misspelt commands and options are refused; the error suggests the nearest known name.

These exit codes are common to all commands; the section of a command lists the codes that differ:

${describeExitCodes()}

\`sluice completion\` prints a script for bash, zsh or fish, which completes commands, options, and the values of options that have a fixed set of values. The script itself runs no program.
`;

export const commandLinePage = (): GeneratedFile =>
  generatedPage(
    "docs/reference/command-line.md",
    `${introduction}\n${describeCommands(sluice)}\n${describeCommands(operatorProgram)}`,
    "gateway/src/commands/definitions and operator/src/commands/definition.ts",
  );
