/** The completion script for bash. It runs no program, and needs no package for completion. */
import { type CompletedCommand, caseBranches, commandSteps, optionValues, positionWords } from "./candidates.ts";

export const bashScript = (
  name: string,
  commands: readonly CompletedCommand[],
): string => `# bash completion for ${name}
_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} command= option= words= position=0 word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # Bash splits --option=value at the equals sign.
    if [[ $word == "=" ]]; then continue; fi
    if [[ -n $option ]]; then option=; continue; fi
    case "$command:$word" in
${caseBranches(
  optionValues(commands).map(([place]) => [place, "option=$word"]),
  branch,
)}${caseBranches(
  commandSteps(commands).map(([step, path]) => [step, `command="${path}"`]),
  branch,
)}      *:-*) ;;
      *) position=$((position + 1)) ;;
    esac
  done
  if [[ $current == "=" ]]; then current=; fi
  if [[ -n $option ]]; then
    case "$command:$option" in
${caseBranches(
  optionValues(commands).flatMap(([place, choices]) =>
    choices.length === 0 ? [] : [[place, `words="${choices.join(" ")}"`] as const],
  ),
  branch,
)}    esac
  elif [[ $current == -* ]]; then
    case $command in
${caseBranches(
  commands.map(({ path, options }) => [path, `words="${options.map(({ word }) => word).join(" ")}"`]),
  branch,
)}    esac
  else
    case "$command:$position" in
${caseBranches(
  positionWords(commands).map(([place, words]) => [place, `words="${words.map(({ word }) => word).join(" ")}"`]),
  branch,
)}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${name} ${name}
`;

function branch(patterns: readonly string[], body: string): string {
  return `      ${patterns.map((pattern) => `"${pattern}"`).join("|")}) ${body} ;;\n`;
}
