import assert from "node:assert/strict";
import { test } from "node:test";
import { builtProgram } from "../../tools/build/programs.ts";
import { startProcess } from "../../tools/process/index.ts";

const runs: readonly [string, number, RegExp, Readonly<Record<string, string>>?][] = [
  ["--help", 0, /^Usage: sluice-operator [\s\S]*\n {2}--operator-listen <host:port>\n/],
  ["help", 0, /^Usage: sluice-operator /],
  ["crds --help", 0, /^Usage: sluice-operator crds /],
  ["crds apply -h", 0, /^Usage: sluice-operator crds apply [\s\S]*\n {2}4 {3}Helm or Pulumi/],
  ["--version", 0, /^\d+\.\d+\.\d+\n$/],
  ["version", 0, /^\d+\.\d+\.\d+\n$/],
  ["crds print --version", 0, /^\d+\.\d+\.\d+\n$/],
  ["crds", 2, /^Usage: sluice-operator crds /],
  ["crd", 2, /^sluice-operator: unknown command 'crd'\n\(Did you mean crds\?\)\nTry 'sluice-operator --help'\.\n$/],
  ["crds aply", 2, /^sluice-operator crds: unknown command 'aply'\n\(Did you mean apply\?\)\n/],
  ["--directry x", 2, /^sluice-operator: unknown option '--directry'\n\(Did you mean --directory\?\)\n/],
  ["crds apply --force", 2, /^sluice-operator crds apply: unknown option '--force'\n/],
  ["crds apply now", 2, /^sluice-operator crds apply: too many arguments for /],
  [
    "--lease-duration 5",
    1,
    /^sluice-operator: --lease-duration: expected a duration with its unit, [^\n]*, not '5'\n$/,
  ],
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
    const args = words.split(" ").filter((word) => word !== "");
    const run = await startProcess(await builtProgram("operator"), args, { name: "sluice-operator", env });
    const { code: ended } = await run.ended();
    assert.match(run.output(), output);
    assert.equal(ended, code);
  });
}
