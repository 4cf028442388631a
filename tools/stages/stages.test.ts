import assert from "node:assert/strict";
import { test } from "node:test";
import { sourcePaths } from "../check/source-files.ts";
import { keptResult, renderResults } from "./public-results.ts";
import { failedOf, failedTestText, hasFailed, resultFaultsOf, summary, type TestCounts } from "./result.ts";
import { longestFirst } from "./run-suites.ts";
import { slowFiles } from "./slow-files.ts";
import { chooseStages, stagePartsOf, suites, testFiles, toolsOf } from "./stages.ts";

const paths = [
  "crds/model/src/a.test.ts",
  "crds/model/src/a.ts",
  "gateway/src/b/b.test.ts",
  "tools/check/c.test.ts",
  "test/clusters/d.test.ts",
  "test/cluster/e.test.ts",
  "test/product/cluster/j.test.ts",
  "test/product/k.test.ts",
  "tools/cluster/deep/f.test.ts",
  "test/e2e/admin/i.test.ts",
  "test/e2e/g.test.ts",
  "test/public/keycloak/l.test.ts",
  "tools/programs/h.test.ts",
];

test("every test file belongs to exactly one stage, and to unit if no folder of another stage contains it", () => {
  const all = suites.flatMap((stage) => testFiles(stage, paths));
  assert.deepEqual(all.toSorted(), paths.filter((path) => path.endsWith(".test.ts")).toSorted());
  const of = (name: string) =>
    suites.filter((stage) => stage.name === name).flatMap((stage) => testFiles(stage, paths));
  assert.deepEqual(of("cluster"), [
    "test/cluster/e.test.ts",
    "test/product/cluster/j.test.ts",
    "tools/cluster/deep/f.test.ts",
  ]);
  assert.deepEqual(of("product"), ["test/product/k.test.ts"]);
  assert.deepEqual(of("unit"), [
    "crds/model/src/a.test.ts",
    "gateway/src/b/b.test.ts",
    "test/clusters/d.test.ts",
    "tools/check/c.test.ts",
  ]);
});

test("without arguments all stages except e2e and public run; with arguments the named stages run, in the usual order", () => {
  const all = ["check", "tools", "unit", "conformance", "cluster", "images", "product", "golden"];
  assert.deepEqual(chooseStages([], paths), { names: all, unknown: [] });
  assert.deepEqual(chooseStages(["golden", "check"], paths), { names: ["check", "golden"], unknown: [] });
  assert.deepEqual(chooseStages(["e2e"], paths), { names: ["e2e"], unknown: [] });
  assert.deepEqual(chooseStages(["units"], paths).unknown, ["units"]);
});

test("every test file below test/public belongs to a folder with a subject, and every such folder has test files", () => {
  for (const stage of suites.filter(({ subjects }) => subjects !== undefined)) {
    const files = testFiles(stage, sourcePaths());
    const parts = stagePartsOf(stage, files);
    assert.deepEqual(parts.flatMap((part) => part.files).toSorted(), files);
    assert.deepEqual(parts.map(({ name }) => name).toSorted(), Object.keys(stage.subjects ?? {}).toSorted());
  }
});

test("files of the paired folders run before the stage's other files, two at a time", () => {
  const stage = { name: "s", what: "", concurrency: 1, minutes: 1, pairedFolders: ["a/b"] } as const;
  assert.deepEqual(stagePartsOf(stage, ["a/b/one.test.ts", "a/two.test.ts"]), [
    { name: "s, two at a time", files: ["a/b/one.test.ts"], concurrency: 2 },
    { name: "s", files: ["a/two.test.ts"], concurrency: 1 },
  ]);
  assert.deepEqual(stagePartsOf(stage, ["a/two.test.ts"]), [{ name: "s", files: ["a/two.test.ts"], concurrency: 1 }]);
});

test("an argument after public selects one folder of that stage", () => {
  const { names, folders, unknown } = chooseStages(["public", "keycloak"], paths);
  assert.deepEqual({ names, folders, unknown }, { names: ["public"], folders: ["test/public/keycloak"], unknown: [] });
  assert.deepEqual(chooseStages(["public", "admin"], paths).unknown, ["admin"]);
});

test("a kept result has a line with its date, its commit, and faults counted as failures", () => {
  const result = { stage: "s", passed: 5, failed: 1, seconds: 61.4, faults: ["1 skipped: it must run"] };
  const about = { subject: "a plugin with a server", date: "2030-01-02", commit: "0123456789" };
  const page = renderResults([keptResult(result, about)]);
  assert.match(page, /^\| a plugin with a server \| 2030-01-02 \| 0123456789 \| 5 \| 2 \| 61 \|$/m);
});

test("arguments after e2e select folders of that stage that have tests, and only the test files of these folders run", () => {
  const { names, folders, unknown } = chooseStages(["e2e", "admin"], paths);
  assert.deepEqual({ names, unknown }, { names: ["e2e"], unknown: [] });
  const files = suites
    .filter(({ name }) => names.includes(name))
    .flatMap((stage) => testFiles({ ...stage, folders }, paths));
  assert.deepEqual(files, ["test/e2e/admin/i.test.ts"]);
  assert.deepEqual(chooseStages(["e2e", "admin", "adm", "g.test.ts"], paths).unknown, ["adm", "g.test.ts"]);
});

test("the files of some folders run only if an argument names the folder", () => {
  const stage = { name: "s", what: "", concurrency: 1, minutes: 1, folders: ["a"], foldersByName: ["a/b"] } as const;
  const all = ["a/b/one.test.ts", "a/two.test.ts"];
  assert.deepEqual(testFiles(stage, all), ["a/two.test.ts"]);
  assert.deepEqual(testFiles({ ...stage, folders: ["a/b"] }, all), ["a/b/one.test.ts"]);
});

test("a run needs the tools of its stage and those of each folder whose test files run, and no other tools", () => {
  const stage = {
    name: "s",
    what: "",
    concurrency: 1,
    minutes: 1,
    tools: ["kube"],
    folderTools: { "a/b": ["helm"], "a/c": ["deck"] },
  } as const;
  assert.deepEqual(toolsOf(stage, ["a/b/one.test.ts", "a/two.test.ts"]), ["kube", "helm"]);
  assert.deepEqual(toolsOf(stage, ["a/bb/one.test.ts"]), ["kube"]);
});

const counts: TestCounts = { tests: 2, passed: 2, cancelled: 0, skipped: 0, todo: 0 };
test("a test that did not pass has failed, unless it is skipped or a todo", () => {
  assert.equal(failedOf({ tests: 9, passed: 4, cancelled: 1, skipped: 2, todo: 1 }), 2);
});

const faults: readonly [what: string, counts: TestCounts, files: [string, number][], expected: RegExp[]][] = [
  ["all tests passed", counts, [["a.test.ts", 2]], []],
  ["there is no test file", counts, [], [/^the stage has no test file$/]],
  [
    "a file has no test",
    counts,
    [
      ["a.test.ts", 2],
      ["b.test.ts", 0],
    ],
    [/^b\.test\.ts reported no test$/],
  ],
  [
    "a test is skipped and another test is a todo",
    { ...counts, skipped: 1, todo: 1 },
    [["a.test.ts", 4]],
    [/^1 skipped/, /^1 todo/],
  ],
];
for (const [what, given, files, expected] of faults) {
  test(`${expected.length} ${expected.length === 1 ? "fault is" : "faults are"} reported when ${what}`, () => {
    const found = resultFaultsOf(given, new Map(files));
    assert.equal(found.length, expected.length, found.join());
    for (const [index, pattern] of expected.entries()) assert.match(String(found[index]), pattern);
  });
}

test("the files with the longest last durations start first, but only after the files without a known duration, of which the slow ones start first", () => {
  const [slow = ""] = slowFiles;
  assert.deepEqual(longestFirst(["a", "b", "c", "d", slow, "e"], { a: 1, c: 3, e: 2 }), [
    slow,
    "b",
    "d",
    "c",
    "e",
    "a",
  ]);
  assert.deepEqual(longestFirst(["a", slow], { a: 2, [slow]: 1 }), ["a", slow]);
});

test("every file that counts as slow is a test file", () => {
  const files = new Set(sourcePaths().filter((path) => path.endsWith(".test.ts")));
  assert.deepEqual([...slowFiles.difference(files)], []);
});

test("the summary repeats failed tests, ends with the totals, and counts a fault as a failure", () => {
  const results = [
    { stage: "check", passed: 7, failed: 0, seconds: 10, faults: [] },
    {
      stage: "unit",
      passed: 100,
      failed: 2,
      seconds: 51.26,
      failures: [failedTestText({ file: "a.test.ts", name: "adds", message: "waited 5 s\nlast output:\nstarting\n" })],
      faults: ["1 skipped"],
    },
  ];
  assert.deepEqual(summary(results, 60.6).split("\n"), [
    "ok     check  7 passed, 0 failed, 10.0 s",
    "FAILED unit   100 passed, 2 failed, 51.3 s",
    "       a.test.ts: adds",
    "         waited 5 s",
    "         last output:",
    "         starting",
    "       1 skipped",
    "in 1 min 1 s",
    "107 passed, 3 failed",
  ]);
  assert.deepEqual(results.map(hasFailed), [false, true]);
});
