/**
 * Command lines: definitions of commands, and the parser and completion scripts derived from them. commander is loaded
 * only for command lines that need it, so that a node configured by its environment spends no memory on the library.
 */
import {
  type CommandDefinition,
  type LoadedCommand,
  namedCommands,
  type ParsedCommandLine,
  type ParseOptions,
} from "./definition.ts";

/** Parses the arguments after the program's name. Loads only the modules of the named command. */
export async function parseCommandLine<Loaded extends LoadedCommand>(
  root: CommandDefinition<Loaded>,
  args: readonly string[],
  options: ParseOptions,
): Promise<ParsedCommandLine<Loaded>> {
  const path = namedCommands(root, args);
  const named = path.at(-1);
  // Only names of commands: there is nothing left to parse.
  if (named?.load && !named.options && !named.arguments && path.length === args.length + 1) {
    const [, ...subcommands] = path.map(({ name }) => name);
    const given = { subcommands, positionals: [], options: {} };
    return { kind: "given", name: [root.name, ...subcommands].join(" "), given, flags: {}, loaded: await named.load() };
  }
  const { parseWithCommander } = await import("./parse.ts");
  return parseWithCommander(root, args, options);
}

export { type CompletionShell, completionScript } from "./completion/index.ts";
export type {
  ArgumentDefinition,
  CommandDefinition,
  CommandExample,
  GivenArguments,
  GivenOption,
  LoadedCommand,
  OptionDefinition,
  ParsedCommandLine,
  ParseOptions,
} from "./definition.ts";
