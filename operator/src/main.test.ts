import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startProcess } from "../../tools/process/index.ts";

const runs: readonly [string, number, RegExp, Readonly<Record<string, string>>?][] = [
  ["--help", 0, /^usage: sluice-operator \[COMMAND\]\n[\s\S]*\n {2}SLUICE_OPERATOR_LISTEN: host:port/],
  ["help", 0, /^usage: sluice-operator \[COMMAND\]\n/],
  ["crds --help", 0, /^usage: sluice-operator \[COMMAND\]\n/],
  ["crds apply -h", 0, /^usage: sluice-operator \[COMMAND\]\n/],
  ["--version", 0, /^\d+\.\d+\.\d+\n$/],
  ["version", 0, /^\d+\.\d+\.\d+\n$/],
  ["crds print --version", 0, /^\d+\.\d+\.\d+\n$/],
  ["crds", 2, /^usage: sluice-operator crds apply\|print\n/],
  ["crd", 2, /^sluice-operator: unknown command 'crd', did you mean crds\?\nTry 'sluice-operator --help'\.\n$/],
  ["crds aply", 2, /^sluice-operator: unknown command 'aply', did you mean apply\?\n/],
  ["--directory x", 2, /^sluice-operator: unknown option '--directory'\n/],
  ["crds apply --force", 2, /^sluice-operator: unknown option '--force'\n/],
  ["crds apply now", 2, /^sluice-operator: unexpected argument 'now'\n/],
  [
    "",
    1,
    /^sluice-operator: SLUICE_NAMESPCAES: there is no such setting, did you mean SLUICE_NAMESPACES\?\n$/,
    { SLUICE_NAMESPCAES: "a" },
  ],
];

for (const [words, code, output, env = {}] of runs) {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const command = [...variables, "sluice-operator", ...(words === "" ? [] : [words])].join(" ");
  test(`\`${command}\` exits with ${code} and prints ${output}`, { timeout: 30_000 }, async () => {
    const args = [fileURLToPath(import.meta.resolve("./main.ts")), ...words.split(" ").filter((word) => word !== "")];
    const run = await startProcess(process.execPath, args, { name: "sluice-operator", env });
    const { code: ended } = await run.ended();
    assert.match(run.output(), output);
    assert.equal(ended, code);
  });
}
