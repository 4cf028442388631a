import assert from "node:assert/strict";
import { test } from "node:test";
import { faultText } from "../fault.ts";
import { checkNames } from "./check-names.ts";

const faultsOf = (...texts: readonly string[]) =>
  checkNames(texts.map((text, at) => ({ path: `gateway/src/${"abc"[at]}.ts`, text }))).map(faultText);

const twice = "gateway/src/b.ts: exports openStore, which gateway/src/a.ts also declares: rename one of them";

const refused: readonly (readonly [what: string, text: string])[] = [
  ["a function", "export function openStore() {}\n"],
  ["a type", "export interface openStore {}\n"],
  ["a constant", "export const openStore = 1;\n"],
  ["a destructured constant", "export const { openStore } = { openStore: 1 };\n"],
  ["a list of exports", "const openStore = 1;\nexport { openStore };\n"],
];
for (const [what, text] of refused)
  test(`the check of names refuses a name that two files export: ${what}`, () =>
    assert.deepEqual(faultsOf("export class openStore {}\n", text), [twice]));

test("the check of names accepts names that are local, or that a file only exports again", () => {
  assert.deepEqual(
    faultsOf("export class openStore {}\n", "const openStore = 1;\n", 'export { openStore } from "./a.ts";\n'),
    [],
  );
});

test("the check of names accepts a listed name in two files, and reports it if only one file declares it", () => {
  const text = "export type FolderInUse = 1;\n";
  assert.deepEqual(faultsOf(text, text), []);
  assert.deepEqual(faultsOf(text), [
    "tools/check/checks/check-names.ts: lists FolderInUse, which only one file declares",
  ]);
});

test("the check of names covers packages, suites, tools and the console", () => {
  const paths = [
    "crds/model/src/c.ts",
    "gateway/console/src/d.tsx",
    "gateway/src/testing.ts",
    "test/a.ts",
    "tools/b.ts",
  ];
  const faults = checkNames(paths.map((path) => ({ path, text: "export const openStore = 1;\n" })));
  assert.deepEqual(
    faults.map(({ file }) => file),
    paths.slice(1),
  );
});
