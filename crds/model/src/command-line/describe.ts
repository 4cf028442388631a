/** The reference page of a program's commands. */
import { type CommandDefinition, exitCodes, type OptionDefinition } from "./definition.ts";

/** A Markdown section for each command, in the order of the definitions. */
export function describeCommands(program: CommandDefinition): string {
  return sectionsOf(program, [program.name]).join("\n");
}

/** A Markdown list of the exit codes of every command. */
export const describeExitCodes = (): string => codeList(exitCodes);

function sectionsOf(definition: CommandDefinition, names: readonly string[]): readonly string[] {
  const { summary, description, aliases = [], examples, exitCodes: codes, subcommands = [] } = definition;
  const name = names.join(" ");
  const parts = [
    `## ${name}`,
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    description,
    `\`\`\`sh\n${usageOf(definition, name)}\n\`\`\``,
    aliases.length > 0 && `Other names: ${aliases.map((alias) => `\`${alias}\``).join(", ")}.`,
    subcommands.length > 0 &&
      table(
        ["command", "effect"],
        subcommands.map((one) => [`[\`${one.name}\`](#${[...names, one.name].join("-")})`, one.summary]),
      ),
    table(
      ["argument or option", "meaning"],
      [
        ...(definition.arguments ?? []).map(({ name: argument, choices, description: meaning }) => [
          `\`${argument}\``,
          withChoices(meaning, choices),
        ]),
        ...Object.entries(definition.options ?? {}).map(optionRow),
      ],
    ),
    `\`\`\`sh\n${examples.map(({ line, effect }) => `# ${effect}\n${line}`).join("\n\n")}\n\`\`\``,
    codes && `Exit codes that differ from the common ones:\n\n${codeList(codes)}`,
  ];
  const section = `${parts.filter(Boolean).join("\n\n")}\n`;
  return [section, ...subcommands.flatMap((one) => sectionsOf(one, [...names, one.name]))];
}

function usageOf({ load, options = {}, arguments: positionals = [], subcommands }: CommandDefinition, name: string) {
  const required = Object.entries(options).flatMap(([long, { required: needed, value }]) =>
    needed ? [`--${long} ${value ?? ""}`.trim()] : [],
  );
  const words = positionals.map(({ name: argument, optional }) => (optional ? `[${argument}]` : argument));
  const command = subcommands ? [load ? "[COMMAND]" : "COMMAND"] : [];
  return [name, ...command, ...words, ...required, "[OPTIONS]"].join(" ");
}

function optionRow([long, { short, value, choices, default: standard, description }]: [string, OptionDefinition]) {
  const names = [...(short === undefined ? [] : [`-${short}`]), `--${long}`].join(", ");
  const note = standard === undefined ? "" : ` Default: \`${standard}\`.`;
  return [`\`${names}${value === undefined ? "" : ` ${value}`}\``, `${withChoices(description, choices)}${note}`];
}

const withChoices = (text: string, choices: readonly string[] | undefined): string =>
  choices ? `${text} One of: ${choices.map((choice) => `\`${choice}\``).join(", ")}.` : text;

const codeList = (codes: Readonly<Record<number, string>>): string =>
  table(
    ["code", "meaning"],
    Object.entries(codes).map(([code, meaning]) => [code, meaning]),
  );

/** Empty for no rows. */
function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(header), `|${header.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}
