import assert from "node:assert/strict";
import { test } from "node:test";
import { parseResources } from "./parse-resources.ts";

const head = "apiVersion: sluice.dev/v1alpha1\nkind: Service\n";

test("the parser reports where a document is invalid, and reads the other documents", () => {
  const good = `${head}metadata: {name: good}\n`;
  const table: readonly (readonly [string, RegExp])[] = [
    ["- a\n", /a resource is a map/],
    ["kind: Service\n", /unknown kind Service of apiVersion \(none\)/],
    ["apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", /unknown kind Pod of apiVersion v1: skipped/],
    [head, /metadata: required/],
    [`${head}metadata: {name: Upper}\n`, /metadata\.name/],
    [`${head}metadata: {name: a, namespace: ../b}\n`, /metadata\.namespace/],
    [`${head}metadata: {name: a, labels: {n: 1}}\n`, /metadata\.labels: must be a map of strings/],
    [`${head}metadata: {name: a}\nspec: [1]\n`, /spec: a map/],
    ["apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: 1}\n", /stringData: must be a map of strings/],
    [`${head}metadata: {name: *nowhere}\n`, /nowhere/],
  ];
  for (const [bad, message] of table) {
    const { broken, resources, faults } = parseResources(`${good}---\n${bad}---\n${good}`);
    assert.equal(broken, false, bad);
    assert.equal(resources.length, 2, bad);
    assert.deepEqual(
      faults.map(({ line, column }) => [line, column]),
      [[5, 1]],
      bad,
    );
    assert.match(faults[0]?.message ?? "", message);
  }
});

test("the parser reports where a text is not YAML", () => {
  const { broken, resources, faults } = parseResources(`${head}metadata: {name: a}\n---\nspec:\n  url: "open\n`);
  assert.equal(broken, true);
  assert.deepEqual(resources, []);
  assert.deepEqual([faults[0]?.line, faults[0]?.message], [6, 'this " is not closed']);
});

test("the parser reports the line of unclosed brackets, however many there are", () => {
  for (const [depth, column] of [
    [1, 10],
    // Above the parser's depth limit, the error has no fixed column.
    [100_000, undefined],
  ] as const) {
    const paths = `${"[".repeat(depth)}/a`;
    const { broken, faults } = parseResources(`${head}metadata: {name: a}\nspec:\n  paths: ${paths}\n  host: b\n`);
    assert.equal(broken, true);
    assert.equal(faults[0]?.line, 5);
    if (column !== undefined)
      assert.deepEqual(
        faults.map((fault) => fault.column),
        [column],
      );
  }
});

test("the parser refuses a duplicate key, as kubectl does with its default strict validation", () => {
  const { broken, resources, faults } = parseResources(`${head}metadata: {name: a}\nspec:\n  path: /a\n  path: /b\n`);
  assert.equal(broken, true);
  assert.deepEqual(resources, []);
  assert.deepEqual([faults[0]?.line, faults[0]?.message], [6, "Map keys must be unique"]);
});

test("the parser refuses a text whose aliases expand to too many values", () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [${"*a,".repeat(10)}]\nc: &c [${"*b,".repeat(10)}]\nd: [${"*c,".repeat(10)}]\n`;
  const { resources, faults } = parseResources(`${head}metadata: {name: a}\nspec:\n${bomb.replace(/^/gm, "  ")}\n`);
  assert.deepEqual(resources, []);
  assert.match(faults[0]?.message ?? "", /alias/i);
});

test("the parser returns Secrets in the form of the API, and places resources without a namespace in the default namespace", () => {
  const [secret] = parseResources(
    "apiVersion: v1\nkind: Secret\nmetadata: {name: a, uid: ignored}\ndata: {a: YQ==, b: YQ==}\nstringData: {b: bb}\nstatus: {}\n",
  ).resources;
  assert.deepEqual(secret?.content, {
    apiVersion: "v1",
    kind: "Secret",
    type: "Opaque",
    metadata: { name: "a", namespace: "default" },
    data: { a: "YQ==", b: "YmI=" },
  });
});

test("the parser reads files without resources", () => {
  for (const text of ["", "\n", "# only a comment\n", "---\n---\n", "null\n"])
    assert.deepEqual(parseResources(text), { broken: false, resources: [], faults: [] }, JSON.stringify(text));
});
