/** Parses command-line arguments by their declarations. */
import { parseArgs } from "node:util";
import { suggestionFor } from "../suggest.ts";

export interface CommandArguments {
  /** Options by their long name. Every command has `--help` (`-h`) and `--version` as well. */
  readonly options?: Readonly<Record<string, { readonly type: "boolean" | "string"; readonly short?: string }>>;
  /** Names of positional arguments, as in the usage: `FILE`, or `[FILE]` for an optional argument. */
  readonly positionals?: readonly string[];
  readonly subcommands?: Readonly<Record<string, CommandArguments>>;
  /** Whether the command can run without a subcommand. */
  readonly subcommandOptional?: boolean;
}

export type ArgumentsRead =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  /** A required subcommand was not named: the caller prints the usage. */
  | { readonly kind: "incomplete" }
  | { readonly kind: "invalid"; readonly message: string }
  | GivenArguments;

export interface GivenArguments {
  readonly kind: "given";
  /** The subcommands, outermost first. */
  readonly subcommands: readonly string[];
  readonly positionals: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
}

/**
 * Parses arguments. An undeclared option makes the result invalid even beside `--help` or `--version`; an unexpected or
 * missing positional, or a missing value of an option, does so only without them.
 */
export function readArguments(args: readonly string[], declared: CommandArguments): ArgumentsRead {
  const { subcommands, subcommandOptional = false } = declared;
  const [first, ...rest] = args;
  if (!subcommands || first === undefined || first.startsWith("-")) {
    const read = readFlat(args, declared);
    return subcommands && !subcommandOptional && read.kind === "given" ? { kind: "incomplete" } : read;
  }
  const selected = Object.hasOwn(subcommands, first) ? subcommands[first] : undefined;
  if (!selected) {
    const suggestion = suggestionFor(first, Object.keys(subcommands));
    return { kind: "invalid", message: `unknown command '${first}'${suggestion}` };
  }
  const read = readArguments(rest, selected);
  return read.kind === "given" ? { ...read, subcommands: [first, ...read.subcommands] } : read;
}

function readFlat(args: readonly string[], { options = {}, positionals: names = [] }: CommandArguments): ArgumentsRead {
  const known = { ...options, help: { type: "boolean", short: "h" }, version: { type: "boolean" } } as const;
  const { tokens } = parseArgs({ args: [...args], options: known, strict: false, tokens: true });
  const given = tokens.filter((token) => token.kind === "option");
  const unknown = given.find(({ name }) => !Object.hasOwn(known, name));
  if (unknown) {
    const suggestion = suggestionFor(
      unknown.rawName,
      Object.keys(known).map((name) => `--${name}`),
    );
    return { kind: "invalid", message: `unknown option '${unknown.rawName}'${suggestion}` };
  }
  for (const kind of ["help", "version"] as const) if (given.some(({ name }) => name === kind)) return { kind };
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: known, allowPositionals: true });
    const [extra] = positionals.slice(names.length);
    if (extra !== undefined) return { kind: "invalid", message: `unexpected argument '${extra}'` };
    const missing = names.slice(positionals.length).find((name) => !name.startsWith("["));
    if (missing !== undefined) return { kind: "invalid", message: `${missing} is missing` };
    return { kind: "given", subcommands: [], positionals, options: values };
  } catch (error) {
    // An option lacks its value, or has a value although it accepts none.
    return { kind: "invalid", message: (error as Error).message };
  }
}
