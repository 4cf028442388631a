/** Runs the commands of docs/how-to/convert-import-and-export.md as written. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { builtProgram } from "../../../tools/build/programs.ts";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { startProcess, temporaryFolder } from "../../../tools/process/index.ts";

const page = readFileSync(join(repositoryRoot, "docs/how-to/convert-import-and-export.md"), "utf8");
const shown = [...page.matchAll(/^```console\n(.*?)^```$/gms)].map(([, lines = ""]) => lines).join("");

test("the commands of convert-import-and-export.md print what the page shows", async (context) => {
  const folder = temporaryFolder("page");
  context.after(() => folder.remove());
  const commands = shown.split("\n").flatMap((line) => (line.startsWith("$ ") ? [line.slice(2)] : []));
  assert.ok(commands.length > 10);
  const main = await builtProgram("gateway");
  const script = [
    `sluice() { '${main}' "$@"; }`,
    "exec 2>&1",
    ...commands.flatMap((command) => [`cat <<'END'\n$ ${command}\nEND`, command]),
  ];
  writeFileSync(join(folder.path, "page.sh"), script.join("\n"));
  const shell = await startProcess("sh", ["page.sh"], { name: "page", cwd: folder.path });
  await shell.ended();
  assert.equal(shell.output(), shown);
});
