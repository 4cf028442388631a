/** The layout of `--help`. */
import { Command, Help } from "commander";
import { exitCodes } from "./definition.ts";

/** Columns. Longer lines are hard to read. */
const MAXIMUM_WIDTH = 100;

/** Columns of a term. The description of a longer term begins on the next line. */
const TERM_WIDTH = 24;

class ProgramHelp extends Help {
  override prepareContext(context: { readonly helpWidth?: number }): void {
    this.helpWidth = Math.min(context.helpWidth ?? MAXIMUM_WIDTH, MAXIMUM_WIDTH);
  }

  override padWidth(command: Command, helper: Help): number {
    return Math.min(TERM_WIDTH, super.padWidth(command, helper));
  }

  override subcommandTerm(command: Command): string {
    return super.subcommandTerm(command).replace(" [options]", "");
  }

  override formatItem(term: string, termWidth: number, description: string, helper: Help): string {
    if (helper.displayWidth(term) <= termWidth) return super.formatItem(term, termWidth, description, helper);
    return `  ${term}\n${super.formatItem("", 4, description, helper)}`;
  }
}

/** A command of the library commander with this layout. Its subcommands have the same class. */
export class ProgramCommand extends Command {
  override createCommand(name?: string): ProgramCommand {
    return new ProgramCommand(name);
  }

  override createHelp(): Help {
    return Object.assign(new ProgramHelp(), this.configureHelp());
  }
}

/** The exit codes of a command for its help: those of all commands, and its own. */
export const exitCodeText = (own: Readonly<Record<number, string>>): string =>
  Object.entries({ ...exitCodes, ...own })
    .map(([code, meaning]) => `  ${code.padEnd(3)} ${meaning}\n`)
    .join("");
