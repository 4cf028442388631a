import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../../test/check/source-files.ts";
import { startProcess } from "../../test/process/index.ts";

const runs: readonly [string, number, RegExp, Readonly<Record<string, string>>?][] = [
  ["", 2, /^usage: sluice COMMAND\n\n {2}start /],
  ["nonsense", 2, /^usage: sluice COMMAND/],
  ["__proto__", 2, /^usage: sluice COMMAND/],
  ["help", 0, /^usage: sluice COMMAND/],
  ["version", 0, /^\d+\.\d+\.\d+\n$/],
  ["config", 2, /^usage: sluice config COMMAND/],
  ["config parse ./there/is/none.yml", 1, /^sluice: ENOENT: .*none\.yml'\n$/],
  ["migrations nonsense", 2, /^usage: sluice migrations COMMAND/],
  ["start", 1, /^sluice: SLUICE_FILE must be set: the declarative file\n$/, { SLUICE_STORE: "file" }],
  ["start", 1, /^sluice: SLUICE_STORE: expected one of: database, file, not 'cluster'\n$/, { SLUICE_STORE: "cluster" }],
];

for (const [words, code, output, env = {}] of runs) {
  test(`sluice ${words} ends with ${code}: ${output.source}`, async () => {
    const args = [join(root, "gateway/src/main.ts"), ...words.split(" ").filter((word) => word !== "")];
    const run = await startProcess(process.execPath, args, { name: "sluice", env });
    assert.equal((await run.ended()).code, code);
    assert.match(run.output(), output);
  });
}
