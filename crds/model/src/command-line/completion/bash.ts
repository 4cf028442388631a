/** The completion script for bash. It runs no program, and needs no package for completion. */
import type { Candidate, CompletedCommand } from "./candidates.ts";
import { shellBranches } from "./shell-branches.ts";

export function bashScript(name: string, commands: readonly CompletedCommand[]): string {
  const { words, values, options, positions } = shellBranches(commands, assign);
  return `# bash completion for ${name}
_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} command= option= words= position=0 word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # Bash splits --option=value at the equals sign.
    if [[ $word == "=" ]]; then continue; fi
    if [[ -n $option ]]; then option=; continue; fi
    case "$command:$word" in
${words}    esac
  done
  if [[ $current == "=" ]]; then current=; fi
  if [[ -n $option ]]; then
    case "$command:$option" in
${values}    esac
  elif [[ $current == -* ]]; then
    case $command in
${options}    esac
  else
    case "$command:$position" in
${positions}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${name} ${name}
`;
}

const assign = (candidates: readonly Candidate[]): string => `words="${candidates.map(({ word }) => word).join(" ")}"`;
