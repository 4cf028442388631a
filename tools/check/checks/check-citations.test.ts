import assert from "node:assert/strict";
import { test } from "node:test";
import { faultText } from "../fault.ts";
import { checkCitations } from "./check-citations.ts";

const page = { path: "docs/reference/api.md", text: "# API\n\n## Paging and tags\n" };
const record = { path: "docs/decisions/0002-one-port.md", text: "# 2. One port\n" };
const near = "gateway/src/notes.md";

const faultsOf = (text: string, path = "gateway/src/a.ts") =>
  checkCitations([{ path, text }, page, record], [path, page.path, record.path, near]).map(faultText);

/** The words that the check looks for are put together here, so that this file does not contain them. */
const cite = (...words: string[]) => `/** Pages of lists (${words.join("")} 1.2). */`;
const numbered = (number: number, of = "decision") => `// One port (${of} ${number}).`;

const accepted: readonly string[] = [
  "// docs/reference/api.md",
  " * docs/reference/api.md#paging-and-tags says why",
  "/** notes.md */",
  numbered(2),
  "// docs/decisions/0002",
  "// docs/decisions/0002-one-port.md",
  'const page = "docs/nowhere.md";',
  "// RFC 9110 section 7.6.1",
  "// see `a.ts`, `gateway/src/a.ts` and `./a.ts`",
];
for (const text of accepted)
  test(`the citation check accepts ${JSON.stringify(text)}`, () => assert.deepEqual(faultsOf(text), []));

const refused: readonly [text: string, fault: string][] = [
  [cite("kong", "-contract"), `cites '${"kong"}-contract', which readers do not have`],
  [cite("Kong", " contract"), `cites '${"Kong"} contract', which readers do not have`],
  [cite("house", " rule"), `cites '${"house"} rule', which readers do not have`],
  [numbered(3), `cites '${"decision"} 3', which docs/decisions does not have`],
  [`// docs/${"decisions"}/0003-two-ports.md`, `cites '${"decisions"}/0003', which docs/decisions does not have`],
  ["// docs/nowhere.md", "cites docs/nowhere.md, which does not exist"],
  [`// \`b.${"ts"}\``, `cites b.${"ts"}, which does not exist`],
  [
    "// docs/reference/api.md#filters",
    "cites docs/reference/api.md#filters: docs/reference/api.md does not have this heading",
  ],
];
for (const [text, fault] of refused)
  test(`the citation check refuses ${JSON.stringify(text)}`, () =>
    assert.ok(faultsOf(`\n${text}`).includes(`gateway/src/a.ts:2: ${fault}`)));

test("the citation check refuses a decision record whose title and file have different numbers", () => {
  assert.deepEqual(faultsOf("# 4. Two ports\n", "docs/decisions/0003-two-ports.md"), [
    "docs/decisions/0003-two-ports.md:1: has a title that does not begin with '# 3. '",
  ]);
});

test("the citation check refuses a decision record with the number of another record", () => {
  const two = "docs/decisions/0002-two-ports.md";
  assert.deepEqual(faultsOf("# 2. Two ports\n", two), [
    `${two}:1: has the same number as ${record.path}`,
    `${record.path}:1: has the same number as ${two}`,
  ]);
});

test("the citation check refuses a page that names a TypeScript file that does not exist", () => {
  assert.deepEqual(faultsOf(`See \`b/c.${"ts"}\`.\n`, "docs/how-to/see.md"), [
    `docs/how-to/see.md:1: cites b/c.${"ts"}, which does not exist`,
  ]);
});
