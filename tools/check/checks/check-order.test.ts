import assert from "node:assert/strict";
import { test } from "node:test";
import { faultText } from "../fault.ts";
import { findImports } from "../find-imports.ts";
import { checkCycles, checkOrder, stagesOf } from "./check-order.ts";

const page = `
| path | contents |
|---|---|
| \`gateway/src/settings\` | settings |
| \`gateway/src/stores\` | stores |
| \`gateway/src/admin\` | the admin API |

| \`operator/src/watch\` | not a folder of the gateway |
`;

/** The imports found in files that each import one type. `files` has the import's specifier by the file's path. */
const importsOf = (files: Readonly<Record<string, string>>) =>
  findImports(
    Object.entries(files).map(([path, specifier]) => ({ path, text: `import type { A } from "${specifier}";` })),
  );

test("the stages are the gateway's folders that the page lists, in its order", () => {
  assert.deepEqual(stagesOf(page), ["gateway/src/settings", "gateway/src/stores", "gateway/src/admin"]);
});

const refused: readonly [file: string, specifier: string, target: string][] = [
  ["gateway/src/settings/a.ts", "../stores/b.ts", "gateway/src/stores/b.ts"],
  ["gateway/src/stores/file/a.ts", "../../admin/b/c.ts", "gateway/src/admin/b/c.ts"],
  ["gateway/src/admin/a.ts", "../main.ts", "gateway/src/main.ts"],
  ["gateway/src/admin/a.ts", "../unlisted/b.ts", "gateway/src/unlisted/b.ts"],
];
for (const [file, specifier, target] of refused) {
  test(`the order check refuses an import of ${specifier}, even of a type only, in ${file}`, () => {
    assert.deepEqual(checkOrder(importsOf({ [file]: specifier }), stagesOf(page)).map(faultText), [
      `${file}:1: imports ${target}, which comes later in the table of the gateway's stages in ARCHITECTURE.md: move what both need to an earlier stage`,
    ]);
  });
}

const accepted: readonly [file: string, specifier: string][] = [
  ["gateway/src/admin/a.ts", "../stores/b.ts"],
  ["gateway/src/admin/a.ts", "./b/c.ts"],
  ["gateway/src/main.ts", "./admin/a.ts"],
  ["gateway/src/settings/version.ts", "../../../package.json"],
  ["gateway/src/settings/a.test.ts", "../admin/b.ts"],
  ["gateway/src/settings/testing-a.ts", "../admin/b.ts"],
  ["operator/src/watch/a.ts", "../publish/b.ts"],
];
for (const [file, specifier] of accepted) {
  test(`the order check accepts an import of ${specifier} in ${file}`, () => {
    assert.deepEqual(checkOrder(importsOf({ [file]: specifier }), stagesOf(page)), []);
  });
}

test("the cycle check reports only the shortest cycle of files that import each other, and accepts files that only lead to it", () => {
  const imports = findImports([
    { path: "operator/src/a.ts", text: 'import "./b.ts";\nimport "./d.ts";' },
    { path: "operator/src/b.ts", text: 'export * from "./c/c.ts";' },
    { path: "operator/src/c/c.ts", text: 'import type { A } from "../a.ts";\nimport "../d.ts";' },
    { path: "operator/src/d.ts", text: 'const load = () => import("./a.ts");' },
    { path: "operator/src/main.ts", text: 'import "./a.ts";' },
    { path: "operator/src/a.test.ts", text: 'import "../main.ts";' },
  ]);
  assert.deepEqual(checkCycles(imports).map(faultText), [
    "operator/src/a.ts: is in an import cycle: operator/src/a.ts -> operator/src/d.ts -> operator/src/a.ts",
  ]);
});

test("the cycle check accepts files that share an import, and cycles of tests", () => {
  const imports = findImports([
    { path: "operator/src/a.ts", text: 'import "./b.ts";\nimport "./c.ts";' },
    { path: "operator/src/b.ts", text: 'import "./c.ts";' },
    { path: "test/e2e/a.ts", text: 'import "./b.ts";' },
    { path: "test/e2e/b.ts", text: 'import "./a.ts";' },
  ]);
  assert.deepEqual(checkCycles(imports), []);
});
