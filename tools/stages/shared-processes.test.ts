import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { repositoryRoot, sourcePaths } from "../check/source-files.ts";
import { temporaryFolder } from "../process/index.ts";
import { mayShareProcess, shareProcesses } from "./shared-processes.ts";

const own: readonly string[] = [
  "registerPlugins([deviceToken]);",
  "process.env.SLUICE_FILE = file;",
  'process.on("SIGHUP", listener);',
  'import { spawn } from "node:child_process";',
  'import { Worker } from "node:worker_threads";',
  "const { heapUsed } = process.memoryUsage();",
];
for (const text of own)
  test(`a file with ${text} runs in its own process`, () =>
    assert.equal(mayShareProcess(`test("a", () => {});\n${text}\n`), false));

test("a file whose tests are defined by a suite in another file runs in its own process", () => {
  assert.equal(mayShareProcess("suiteOfStores(createStore);\n"), false);
});

test("files without such text, even with hooks, share a process", () => {
  const text = 'describe("a", () => {\n  before(async () => {});\n  it("b", (t) => t.after(() => {}));\n});\n';
  assert.equal(mayShareProcess(text), true);
});

test("each process has at most 50 files of one folder in the order of their paths, and its entry imports each of them", (t) => {
  const folder = temporaryFolder("shared-processes");
  t.after(() => folder.remove());
  const files = sourcePaths().filter((path) => path.startsWith("crds/") && path.endsWith(".test.ts"));
  const shared = shareProcesses(files, folder.path);
  const imported = shared.map(({ entry }) =>
    [...readFileSync(join(repositoryRoot, entry), "utf8").matchAll(/import\("(.+)"\)/g)].map(([, url = ""]) =>
      relative(repositoryRoot, fileURLToPath(url)),
    ),
  );
  assert.ok(imported.length > 1);
  assert.ok(imported.every(({ length }) => length <= 50));
  assert.deepEqual(
    imported.flat(),
    files.toSorted().filter((file) => mayShareProcess(readFileSync(join(repositoryRoot, file), "utf8"))),
  );
});
