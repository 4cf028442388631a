/** The `case` branches that the scripts for bash and zsh share; both shells accept a parenthesis before a pattern. */
import {
  type Candidate,
  type CompletedCommand,
  caseBranches,
  commandSteps,
  optionValues,
  positionWords,
} from "./candidates.ts";

/** The branches of the `case` statements in the scripts. Each branch ends with a line break. */
export interface ShellBranches {
  /** For `case $command:$word`, with a word before the current one: sets `option`, `command` and `position`. */
  readonly words: string;
  /** For `case $command:$option`: assigns the values of an option. */
  readonly values: string;
  /** For `case $command`: assigns the command's options. */
  readonly options: string;
  /** For `case $command:$position`: assigns the subcommands or the values of an argument. */
  readonly positions: string;
}

/** @param assign The statement that assigns the candidates of a place. */
export function shellBranches(
  commands: readonly CompletedCommand[],
  assign: (candidates: readonly Candidate[]) => string,
): ShellBranches {
  const assigning = (places: readonly (readonly [place: string, candidates: readonly Candidate[]])[]): string =>
    caseBranches(
      places.map(([place, candidates]) => [place, assign(candidates)]),
      branch,
    );
  const values = optionValues(commands);
  const names = caseBranches(
    [
      ...values.map(([place]) => [place, "option=$word"] as const),
      ...commandSteps(commands).map(([step, path]) => [step, `command="${path}"`] as const),
    ],
    branch,
  );
  return {
    words: `${names}      *:-*) ;;\n      *) position=$((position + 1)) ;;\n`,
    values: assigning(
      values.flatMap(([place, choices]) =>
        choices.length === 0 ? [] : [[place, choices.map((word) => ({ word, description: "" }))] as const],
      ),
    ),
    options: assigning(commands.map(({ path, options }) => [path, options])),
    positions: assigning(positionWords(commands)),
  };
}

function branch(patterns: readonly string[], body: string): string {
  return `      (${patterns.map((pattern) => `"${pattern}"`).join("|")}) ${body} ;;\n`;
}
