/** Declarations of commands as data. Parsing, help, completion and the reference page are derived from them. */
import { type Declaration, type Declarations, settingsFile } from "../settings/index.ts";

export interface OptionDefinition {
  /** One letter. */
  readonly short?: string;
  /** The name of the value in the help, such as `PATH`. Absent: the option has no value. */
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly default?: string;
  /** Whether the option may be given several times. */
  readonly repeatable?: boolean;
  readonly required?: boolean;
  /** The option takes no value, and stands for another option with this value. Only one of the two may be given. */
  readonly shortFor?: readonly [option: string, value: string];
  readonly description: string;
}

export interface ArgumentDefinition {
  readonly name: string;
  /** A required argument may follow an optional one. If only one word is given, the word is the required argument. */
  readonly optional?: boolean;
  readonly choices?: readonly string[];
  /** Further words, each with the choice that it stands for. */
  readonly synonyms?: ReadonlyMap<string, string>;
  readonly description: string;
}

/** The result of loading a command: at least its settings, which are also flags. */
export interface LoadedCommand {
  readonly settings: Declarations;
}

export interface CommandDefinition<Loaded extends LoadedCommand = LoadedCommand> {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** One line without a full stop. */
  readonly summary: string;
  /** Paragraphs for `--help` and the reference page, after the summary. */
  readonly description?: string;
  readonly arguments?: readonly ArgumentDefinition[];
  /** By long name. */
  readonly options?: Readonly<Record<string, OptionDefinition>>;
  readonly examples: readonly [CommandExample, ...CommandExample[]];
  /** Exit codes other than 0, 1 and 2, and those of the three that have another meaning in this command. */
  readonly exitCodes?: Readonly<Record<number, string>>;
  readonly subcommands?: readonly CommandDefinition<Loaded>[];
  /** Loads the modules of the command. Absent: only its subcommands can run. */
  readonly load?: () => Promise<Loaded>;
}

export interface CommandExample {
  readonly line: string;
  readonly effect: string;
}

/** The exit codes of every command. */
export const exitCodes: Readonly<Record<number, string>> = {
  0: "success",
  1: "the command failed; standard error has the reason and what to change",
  2: "invalid arguments",
};

/** The arguments that a command gets. */
export interface GivenArguments {
  /** The names of the subcommands, outermost first, without aliases. */
  readonly subcommands: readonly string[];
  readonly positionals: readonly string[];
  /** Values by the long names of the options. */
  readonly options: Readonly<Record<string, GivenOption>>;
}

export type GivenOption = string | boolean | readonly string[] | undefined;

/**
 * The definitions from `root` to the command that the first arguments name. An option ends the names, and so does an
 * unknown name.
 */
export function namedCommands<Loaded extends LoadedCommand>(
  root: CommandDefinition<Loaded>,
  args: readonly string[],
): readonly CommandDefinition<Loaded>[] {
  const path = [root];
  let current: CommandDefinition<Loaded> | undefined = root;
  for (const arg of args) {
    current = current.subcommands?.find(({ name, aliases = [] }) => name === arg || aliases.includes(arg));
    if (!current) break;
    path.push(current);
  }
  return path;
}

/** The result of parsing: a text to print, or a command to run. */
export type ParsedCommandLine<Loaded> =
  /** Help or the version, for standard output. */
  | { readonly kind: "answered"; readonly text: string }
  /** Invalid arguments; the text is for standard error. */
  | { readonly kind: "refused"; readonly text: string }
  | ({ readonly kind: "given"; readonly loaded: Loaded } & SelectedCommand);

export interface SelectedCommand {
  /** `sluice config import` */
  readonly name: string;
  readonly given: GivenArguments;
  /** Values of settings by their flags, such as `--proxy-listen`. */
  readonly flags: Readonly<Record<string, string>>;
}

export interface ParseOptions {
  readonly version: string;
}

/** The settings of a command, and the setting that names the settings file. */
export const flaggedSettings = (settings: Declarations): readonly Declaration[] => {
  const declared = Object.values(settings);
  return declared.length === 0 ? [] : [settingsFile, ...declared];
};
