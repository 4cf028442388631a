/** The words that a shell completes at each place of a command line, from the definitions of the commands. */
import { flagOf, negativeFlagOf } from "../../settings/index.ts";
import { type CommandDefinition, flaggedSettings } from "../definition.ts";

export interface Candidate {
  readonly word: string;
  /** Without line breaks. */
  readonly description: string;
}

export interface CompletedOption extends Candidate {
  /** `-o` for `--output`. */
  readonly short?: string;
  readonly takesValue: boolean;
  /** The possible values. Empty: any text, so the shell completes file names. */
  readonly choices: readonly string[];
}

export interface CompletedCommand {
  /** The words after the program's name: `config import`; empty for the program itself. */
  readonly path: string;
  readonly subcommands: readonly Candidate[];
  readonly aliases: readonly string[];
  readonly options: readonly CompletedOption[];
  /** The possible values of each positional argument. */
  readonly positionals: readonly (readonly string[])[];
}

/** The completions of a command and its subcommands. Loads all of them, because settings are options. */
export async function completionsOf(
  definition: CommandDefinition,
  parents: readonly string[] = [],
): Promise<readonly CompletedCommand[]> {
  const { subcommands = [], aliases = [], arguments: positionals = [] } = definition;
  const own: CompletedCommand = {
    path: parents.join(" "),
    subcommands: subcommands.map(({ name, summary }) => ({ word: name, description: summary })),
    aliases,
    options: [...(await optionsOf(definition)), ...common],
    positionals: positionals.map(({ choices = [] }) => choices),
  };
  const nested = await Promise.all(subcommands.map((one) => completionsOf(one, [...parents, one.name])));
  return [own, ...nested.flat()];
}

const common: readonly CompletedOption[] = [
  { word: "--help", short: "-h", description: "print help", takesValue: false, choices: [] },
  { word: "--version", description: "print the version", takesValue: false, choices: [] },
];

async function optionsOf({ options = {}, load }: CommandDefinition): Promise<readonly CompletedOption[]> {
  const own = Object.entries(options).map(([long, { short, value, choices = [], description }]) => ({
    word: `--${long}`,
    ...(short !== undefined && { short: `-${short}` }),
    description: firstSentence(description),
    takesValue: value !== undefined,
    choices,
  }));
  if (!load) return own;
  const { settings } = await load();
  const flags = flaggedSettings(settings).flatMap((declaration): readonly CompletedOption[] => {
    const { variable, kind, secret } = declaration;
    if (secret) return [];
    const flag: CompletedOption = {
      word: flagOf(variable),
      description: firstSentence(declaration.description),
      takesValue: kind !== "flag",
      choices: declaration.kind === "choice" ? declaration.words : [],
    };
    return kind === "flag" ? [flag, { ...flag, word: negativeFlagOf(variable) }] : [flag];
  });
  return [...own, ...flags];
}

const firstSentence = (text: string): string => (/^.*?[.:](?= |$)/s.exec(text)?.[0] ?? text).replace(/[.:]$/, "");

/**
 * Branches of a `case` statement: patterns with the same body share a branch.
 *
 * @param branch Writes a branch.
 */
export function caseBranches(
  cases: Iterable<readonly [pattern: string, body: string]>,
  branch: (patterns: readonly string[], body: string) => string,
): string {
  const patterns = new Map<string, string[]>();
  for (const [pattern, body] of cases) patterns.set(body, [...(patterns.get(body) ?? []), pattern]);
  return Array.from(patterns, ([body, some]) => branch(some, body)).join("");
}

/** `config:db_import` -> `config import`: each subcommand with its aliases, and the path that it leads to. */
export const commandSteps = (
  commands: readonly CompletedCommand[],
): readonly (readonly [step: string, path: string])[] =>
  commands.slice(1).flatMap(({ path, aliases }) => {
    const words = path.split(" ");
    const parent = words.slice(0, -1).join(" ");
    return [words.at(-1) ?? "", ...aliases].map((word) => [`${parent}:${word}`, path] as const);
  });

/** `gateway:--engine`: the options that take a value, with their choices. */
export const optionValues = (
  commands: readonly CompletedCommand[],
): readonly (readonly [place: string, choices: readonly string[]])[] =>
  commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ word, short, choices }) =>
        [word, ...(short === undefined ? [] : [short])].map((name) => [`${path}:${name}`, choices] as const),
      ),
  );

/** `settings:0`: the words that can be at a position after the names of commands. */
export const positionWords = (
  commands: readonly CompletedCommand[],
): readonly (readonly [place: string, words: readonly Candidate[]])[] =>
  commands.flatMap(({ path, subcommands, positionals }) => {
    const [first = [], ...rest] = positionals.map((choices) => choices.map((word) => ({ word, description: "" })));
    return [[...subcommands, ...first], ...rest].map((words, index) => [`${path}:${index}`, words] as const);
  });
