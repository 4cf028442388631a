/** The completion script for zsh, for `eval` or for a file `_NAME` in a folder of `fpath`. It runs no program. */
import type { Candidate, CompletedCommand } from "./candidates.ts";
import { shellBranches } from "./shell-branches.ts";

export function zshScript(name: string, commands: readonly CompletedCommand[]): string {
  const { words, values, options, positions } = shellBranches(commands, assign);
  return `#compdef ${name}
_${name}() {
  local current=$words[CURRENT] command= option= word position=0 i
  local -a candidates
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    if [[ -n $option ]]; then option=; continue; fi
    case "$command:$word" in
${words}    esac
  done
  if [[ -z $option && $current == --*=* ]]; then
    option=\${current%%=*}
    compset -P '*='
  fi
  if [[ -n $option ]]; then
    case "$command:$option" in
${values}    esac
  elif [[ $current == -* ]]; then
    case $command in
${options}    esac
    _describe -o option candidates
    return
  else
    case "$command:$position" in
${positions}    esac
  fi
  if (( $#candidates )); then _describe value candidates; else _files; fi
}
compdef _${name} ${name}
if [[ $funcstack[1] == _${name} ]]; then _${name} "$@"; fi
`;
}

const assign = (candidates: readonly Candidate[]): string =>
  `candidates=(${candidates.map(({ word, description }) => quoted(description === "" ? word : `${word}:${description}`)).join(" ")})`;

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
