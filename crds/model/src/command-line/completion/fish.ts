/** The completion script for fish. It runs no program. */
import { type CompletedCommand, caseBranches, commandSteps, optionValues, positionWords } from "./candidates.ts";

export const fishScript = (
  name: string,
  commands: readonly CompletedCommand[],
): string => `# fish completion for ${name}
# Prints the names of commands on the command line and the number of arguments after them: config import:1
function __${name}_place
    set -l command
    set -l option
    set -l position 0
    for word in (commandline -opc)[2..]
        if test -n "$option"
            set option
            continue
        end
        switch "$command:$word"
${caseBranches(
  optionValues(commands).map(([place]) => [place, "set option $word"]),
  branch,
)}${caseBranches(
  commandSteps(commands).map(([step, path]) => [step, `set command '${path}'`]),
  branch,
)}            case '*:-*'
            case '*'
                set position (math $position + 1)
        end
    end
    echo "$command:$position"
end
# Whether the command is one of the given commands.
function __${name}_in
    contains -- (string replace -r ':.*' '' (__${name}_place)) $argv
end
function __${name}_at
    contains -- (__${name}_place) $argv
end
complete -c ${name} -e
${optionLines(name, commands)}${positionLines(name, commands)}`;

function branch(patterns: readonly string[], body: string): string {
  return `            case ${patterns.map(quoted).join(" ")}\n                ${body}\n`;
}

/** One line for each option; commands that have an equal option share the line. */
function optionLines(name: string, commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, options }) =>
    options.map(({ word, short, description, takesValue, choices }): readonly [path: string, rest: string] => {
      const names = [...(short === undefined ? [] : [`-s ${short.slice(1)}`]), `-l ${word.slice(2)}`];
      const values = takesValue ? (choices.length > 0 ? [`-xa ${quoted(choices.join(" "))}`] : ["-r"]) : [];
      return [path, [...names, ...values, `-d ${quoted(description)}`].join(" ")];
    }),
  );
  return caseBranches(
    lines,
    (paths, rest) => `complete -c ${name} -n "__${name}_in ${paths.map(quoted).join(" ")}" ${rest}\n`,
  );
}

function positionLines(name: string, commands: readonly CompletedCommand[]): string {
  return positionWords(commands)
    .flatMap(([place, words]) =>
      words.map(
        ({ word, description }) =>
          `complete -c ${name} -n "__${name}_at ${quoted(place)}" -fa ${word} -d ${quoted(description)}\n`,
      ),
    )
    .join("");
}

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
