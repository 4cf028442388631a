/** Parses command lines with commander, by the definitions of the commands. */
import { Argument, type Command, CommanderError, InvalidArgumentError, Option } from "commander";
import {
  type Declaration,
  type Declarations,
  flagOf,
  negativeFlagOf,
  settingKindOf,
  settingsFile,
  settingsMemberOf,
  shownDefault,
} from "../settings/index.ts";
import { closestName } from "../suggest.ts";
import {
  type CommandDefinition,
  flaggedSettings,
  type GivenArguments,
  type GivenOption,
  type LoadedCommand,
  namedCommands,
  type OptionDefinition,
  type ParsedCommandLine,
  type ParseOptions,
  type SelectedCommand,
} from "./definition.ts";
import { exitCodeText, ProgramCommand } from "./help.ts";

/** Parses command lines of any form; see parseCommandLine. */
export async function parseWithCommander<Loaded extends LoadedCommand>(
  root: CommandDefinition<Loaded>,
  args: readonly string[],
  { version }: ParseOptions,
): Promise<ParsedCommandLine<Loaded>> {
  // `sluice help config` is `sluice config --help`.
  const words = args[0] === "help" ? [...args.slice(1), "--help"] : args;
  const path = namedCommands(root, words);
  const loaded = await path.at(-1)?.load?.();
  let written = "";
  let selected: SelectedCommand | undefined;
  const program = programOf(root, {
    version,
    named: path,
    settings: loaded?.settings ?? {},
    write: (text) => {
      written += text;
    },
    select: (found) => {
      selected = found;
    },
  });
  try {
    program.parse([...words], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { kind: error.exitCode === 0 ? "answered" : "refused", text: written };
  }
  if (!selected || !loaded) throw new TypeError(`no command of ${root.name} was selected`);
  return { kind: "given", loaded, ...selected };
}

interface ProgramParts extends ParseOptions {
  readonly named: readonly CommandDefinition[];
  /** The settings of the last command of `named`. */
  readonly settings: Declarations;
  readonly write: (text: string) => void;
  readonly select: (selected: SelectedCommand) => void;
}

/** The commander command of a definition, with its subcommands. */
function programOf(definition: CommandDefinition, parts: ProgramParts, parents: readonly string[] = []): Command {
  const names = [...parents, definition.name];
  const name = names.join(" ");
  const command = new ProgramCommand(definition.name)
    .summary(definition.summary)
    .description([`${sentence(definition.summary)}`, definition.description].filter(Boolean).join("\n\n"))
    .aliases([...(definition.aliases ?? [])])
    .version(parts.version, "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .exitOverride()
    .showHelpAfterError(`Try '${name} --help'.`)
    .configureOutput({
      writeOut: parts.write,
      writeErr: parts.write,
      outputError: (text, write) => write(text.replace(/^error: /, `${name}: `)),
    });
  const { examples, exitCodes: codes = {} } = definition;
  const { arguments: positionals = [] } = definition;
  const shown = positionals.map(({ name: word, optional }) => (optional ? `[${word}]` : `<${word}>`));
  if (positionals.length > 0) command.usage(["[options]", ...shown].join(" "));
  const firstOptional = positionals.findIndex(({ optional }) => optional);
  for (const [at, argument] of positionals.entries()) {
    // commander assigns words from the left: an argument after an optional one may get no word.
    const mayLack = firstOptional !== -1 && at >= firstOptional;
    const added = new Argument(mayLack ? `[${argument.name}]` : `<${argument.name}>`, argument.description);
    const { choices, synonyms } = argument;
    if (choices) added.choices([...choices]).argParser(choiceParser(choices, synonyms));
    command.addArgument(added);
  }
  for (const [long, option] of Object.entries(definition.options ?? {})) command.addOption(optionOf(long, option));
  if (parts.named.at(-1) === definition && definition.load) addSettings(command, parts.settings);
  for (const subcommand of definition.subcommands ?? []) command.addCommand(programOf(subcommand, parts, names));
  command.addHelpText(
    "after",
    `\nExamples:\n${examples.map(({ line, effect }) => `  ${line}\n      ${effect}\n`).join("")}`,
  );
  // Options after the name of a subcommand belong to it, even if this command has options of the same names.
  if (definition.subcommands) command.enablePositionalOptions();
  // The subcommands of a command whose words can only be their names.
  const namesOnly = positionals.length === 0 ? definition.subcommands : undefined;
  if (definition.load) {
    command.addHelpText("after", `\nExit codes:\n${exitCodeText(codes)}`);
    command.action(() => {
      if (namesOnly && command.args.length > 0) refuseSubcommand(command, namesOnly);
      const missing = positionals.filter(({ optional }) => !optional)[command.args.length];
      if (missing) command.error(`error: missing required argument '${missing.name}'`);
      parts.select({
        name,
        given: givenBy(command, definition, names.slice(1)),
        flags: flagsOf(command, parts.settings),
      });
    });
    if (namesOnly) command.allowExcessArguments();
  }
  return command;
}

const sentence = (summary: string): string => `${summary[0]?.toUpperCase()}${summary.slice(1)}.`;

function optionOf(long: string, { short, value, description, ...definition }: OptionDefinition): Option {
  const flags = [...(short === undefined ? [] : [`-${short}`]), `--${long}`].join(", ");
  const option = new Option(value === undefined ? flags : `${flags} <${value}>`, description);
  if (definition.choices) option.choices([...definition.choices]).argParser(choiceParser(definition.choices));
  if (definition.default !== undefined) option.default(definition.default);
  if (definition.required) option.makeOptionMandatory();
  if (definition.shortFor) option.conflicts(new Option(`--${definition.shortFor[0]}`).attributeName());
  if (definition.repeatable) option.argParser((text: string, earlier: readonly string[] = []) => [...earlier, text]);
  return option;
}

/** Unlike the parser that commander adds for choices, it accepts synonyms and suggests the closest choice. */
const choiceParser =
  (choices: readonly string[], synonyms: ReadonlyMap<string, string> = new Map()) =>
  (word: string): string => {
    if (choices.includes(word) || synonyms.has(word)) return word;
    const found = closestName(word, [...choices, ...synonyms.keys()]);
    throw new InvalidArgumentError(`Allowed choices are ${choices.join(", ")}.${didYouMean(found)}`);
  };

/** As commander writes suggestions. */
const didYouMean = (found: string | undefined): string => (found === undefined ? "" : `\n(Did you mean ${found}?)`);

/** Adds the flags of settings. commander throws if a flag has the name of one of the command's options. */
function addSettings(command: Command, settings: Declarations): void {
  for (const declaration of flaggedSettings(settings)) {
    const flag = flagOf(declaration.variable);
    if (declaration.secret) {
      command.addOption(new Option(`${flag} [value]`).hideHelp());
      continue;
    }
    const { kind } = declaration;
    const option = new Option(kind === "flag" ? flag : `${flag} <${PLACEHOLDERS[kind]}>`, describe(declaration));
    if (kind === "list" || kind === "addresses" || kind === "listeners")
      option.argParser((text: string, earlier?: string) => (earlier === undefined ? text : `${earlier},${text}`));
    command.addOption(option.helpGroup("Settings:"));
    if (kind === "flag")
      command.addOption(
        new Option(negativeFlagOf(declaration.variable), `The opposite of ${flag}.`).helpGroup("Settings:"),
      );
  }
}

const PLACEHOLDERS: Readonly<Record<Declaration["kind"], string>> = {
  text: "text",
  integer: "number",
  count: "number|auto",
  share: "number",
  flag: "",
  choice: "word",
  list: "a,b",
  addresses: "a,b",
  duration: "duration",
  address: "host:port",
  listeners: "host:port [ssl],…",
};

function describe(declaration: Declaration): string {
  const expected = settingKindOf(declaration).expected(declaration);
  const form = declaration.kind === "text" || declaration.kind === "flag" ? "" : ` Expected: ${expected}.`;
  const note = shownDefault(declaration).replaceAll("`", "");
  const value = note === "required" || note === "unset" ? note : `default ${note}`;
  return `${declaration.description}${form} (${declaration.variable}; ${value})`;
}

/** @throws CommanderError */
function refuseSubcommand(command: Command, subcommands: readonly CommandDefinition[]): never {
  const [given = ""] = command.args;
  const found = closestName(
    given,
    subcommands.map(({ name }) => name),
  );
  command.error(`error: unknown command '${given}'${didYouMean(found)}`);
}

function givenBy(
  command: Command,
  { options = {}, arguments: declared = [] }: CommandDefinition,
  subcommands: readonly string[],
): GivenArguments {
  const values = command.opts<Readonly<Record<string, GivenOption>>>();
  const named = Object.entries(options).map(([long, { value }]) => {
    const option = new Option(`--${long}`);
    return [long, values[option.attributeName()] ?? (value === undefined ? false : undefined)] as const;
  });
  const given: Record<string, GivenOption> = Object.fromEntries(named);
  for (const [long, { shortFor }] of Object.entries(options))
    if (shortFor && given[long] === true) given[shortFor[0]] = shortFor[1];
  const positionals = command.args.map((word, at) => declared[at]?.synonyms?.get(word) ?? word);
  return { subcommands, positionals, options: given };
}

/** @throws CommanderError for a secret. */
function flagsOf(command: Command, settings: Declarations): Readonly<Record<string, string>> {
  const given = flaggedSettings(settings).flatMap(({ variable, secret }) => {
    const flag = flagOf(variable);
    const value = command.getOptionValue(new Option(flag).attributeName());
    if (value === undefined) return [];
    if (secret) {
      command.error(
        `error: ${flag} is a secret, which every user of this machine could read in the list of processes: set ` +
          `${variable}, or ${settingsMemberOf(variable)} in the file that ${flagOf(settingsFile.variable)} names`,
      );
    }
    return [[flag, String(value)] as const];
  });
  return Object.fromEntries(given);
}
