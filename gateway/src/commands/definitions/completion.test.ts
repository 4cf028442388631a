/** Completes command lines in real shells, with the scripts that `sluice completion` prints. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { obtainTool } from "../../../../tools/programs/tool.ts";
import { runCommandLine } from "../testing-command.ts";

const rows: readonly (readonly [line: string, ...candidates: readonly string[]])[] = [
  ["sluice gat", "gateway"],
  ["sluice mi", "migrations", "migrate"],
  ["sluice config i", "init", "import"],
  ["sluice config ini", "init"],
  ["sluice migrations re", "reset"],
  ["sluice gateway --engine re", "reply-from"],
  ["sluice gateway --engine=re", "reply-from"],
  ["sluice gateway --proxy-listen gateway --engine ht", "http1"],
  ["sluice start --no-pg-ssl-v", "--no-pg-ssl-verify"],
  ["sluice start --pg-pass"],
  ["sluice config db_export --home-n", "--home-namespace"],
  ["sluice config convert a.yml --to d", "declarative"],
  ["sluice settings -o y", "yaml"],
  ["sluice settings gatew", "gateway"],
  ["sluice completion f", "fish"],
];

/** Runs a program in a shell. In it, SCRIPT stands for the completion script. Resolves to the printed lines. */
async function runShell(context: TestContext, shell: "bash" | "zsh" | "fish", program: string) {
  const folder = temporaryFolder("completion");
  context.after(() => folder.remove());
  const script = join(folder.path, `sluice.${shell}`);
  const { printed } = await runCommandLine(["completion", shell]);
  writeFileSync(script, printed);
  writeFileSync(join(folder.path, "program"), program.replaceAll("SCRIPT", script));
  const path = shell === "bash" ? "bash" : await obtainTool(shell);
  const env = { PATH: process.env.PATH, HOME: folder.path, TERM: "dumb", LC_ALL: "C.UTF-8" };
  const options = shell === "fish" ? ["--no-config"] : shell === "zsh" ? ["-f"] : ["--norc"];
  const { stdout } = await promisify(execFile)(path, [...options, join(folder.path, "program")], {
    cwd: folder.path,
    env,
    timeout: 30_000,
  });
  return stdout.trimEnd().split("\n");
}

test("bash completes commands, options and values", async (context) => {
  // As bash does, with the equals sign as a word of its own.
  const wordsOf = (line: string) => line.replace("=", " = ").split(" ");
  const complete = ([line]: (typeof rows)[number]) =>
    `COMP_WORDS=(${wordsOf(line)
      .map((word) => `'${word}'`)
      .join(" ")}); COMP_CWORD=${wordsOf(line).length - 1}; _sluice; echo "\${COMPREPLY[*]}"\n`;
  const lines = await runShell(context, "bash", `source SCRIPT\n${rows.map(complete).join("")}echo end\n`);
  assert.deepEqual(lines, [...rows.map(([, ...candidates]) => candidates.join(" ")), "end"]);
});

test("fish completes commands, options and values", async (context) => {
  const complete = ([line]: (typeof rows)[number]) =>
    `echo (complete -C '${line}' | string replace -r '\\t.*' '' | string replace -r '^--engine=' '' | sort)\n`;
  const lines = await runShell(context, "fish", `source SCRIPT\n${rows.map(complete).join("")}echo end\n`);
  assert.deepEqual(lines, [...rows.map(([, ...candidates]) => candidates.toSorted().join(" ")), "end"]);
});

test("zsh completes commands, options and values", async (context) => {
  // Zsh completes only what is typed at a terminal. In this one, the function `sluice` prints the completed line.
  const unique = rows.filter((row) => row.length === 2);
  const lines = await runShell(
    context,
    "zsh",
    `zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal 'PS1=; autoload -Uz compinit && compinit -D -u; source SCRIPT; sluice() { print -r -- "<"$*">" }; print -r -- "<"ready">"'
zpty -r terminal output '*<ready>*'
${unique.map(([line]) => `zpty -w -n terminal $'${line}\\t\\n'; zpty -r terminal output '*<*>*'; print -r -- "\${\${output##*<}%%>*}"\n`).join("")}`,
  );
  const completed = unique.map(([line, candidate]) =>
    line.replace(/[^ =]*$/, String(candidate)).replace("sluice ", ""),
  );
  assert.deepEqual(lines, completed);
});
