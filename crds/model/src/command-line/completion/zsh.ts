/** The completion script for zsh, for `eval` or for a file \`_NAME\` in a folder of \`fpath\`. It runs no program. */
import {
  type Candidate,
  type CompletedCommand,
  caseBranches,
  commandSteps,
  optionValues,
  positionWords,
} from "./candidates.ts";

export const zshScript = (name: string, commands: readonly CompletedCommand[]): string => `#compdef ${name}
_${name}() {
  local current=$words[CURRENT] command= option= word position=0 i
  local -a candidates
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
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
  if [[ -z $option && $current == --*=* ]]; then
    option=\${current%%=*}
    compset -P '*='
  fi
  if [[ -n $option ]]; then
    case "$command:$option" in
${caseBranches(
  optionValues(commands).flatMap(([place, choices]) =>
    choices.length === 0 ? [] : [[place, list(choices.map((word) => ({ word, description: "" })))] as const],
  ),
  branch,
)}    esac
  elif [[ $current == -* ]]; then
    case $command in
${caseBranches(
  commands.map(({ path, options }) => [path, list(options)]),
  branch,
)}    esac
    _describe -o option candidates
    return
  else
    case "$command:$position" in
${caseBranches(
  positionWords(commands).map(([place, words]) => [place, list(words)]),
  branch,
)}    esac
  fi
  if (( $#candidates )); then _describe value candidates; else _files; fi
}
compdef _${name} ${name}
if [[ $funcstack[1] == _${name} ]]; then _${name} "$@"; fi
`;

function branch(patterns: readonly string[], body: string): string {
  return `      (${patterns.map((pattern) => `"${pattern}"`).join("|")}) ${body} ;;\n`;
}

const list = (candidates: readonly Candidate[]): string =>
  `candidates=(${candidates.map(({ word, description }) => quoted(description === "" ? word : `${word}:${description}`)).join(" ")})`;

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
