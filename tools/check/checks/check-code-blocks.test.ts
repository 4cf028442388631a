import assert from "node:assert/strict";
import { test } from "node:test";
import { faultText } from "../fault.ts";
import { checkCodeBlocks } from "./check-code-blocks.ts";

const faultsOf = (text: string) =>
  checkCodeBlocks([{ path: "docs/page.md", text }], ["SLUICE_PG_HOST", "SLUICE_FILE"]).map(faultText);

const taken: readonly string[] = [
  "`SLUICE_FILE`, the settings `SLUICE_PG_*` and `SLUICE_PG_…`",
  '```json\n{"a": 1}\n```',
  "```yaml\na: 1\n---\nb: 2\n```",
  "1. item\n\n   ```yaml\n   a:\n     - b\n   ```",
  "```sh\nnot: [yaml\n```",
];
for (const text of taken)
  test(`the check of code blocks accepts ${JSON.stringify(text)}`, () => assert.deepEqual(faultsOf(text), []));

const refused: readonly [text: string, fault: RegExp][] = [
  ["# a\n```sh\nSLUICE_FILES=a sluice start\n```", /^docs\/page\.md:3: names the setting SLUICE_FILES, which does not/],
  ["a name of no setting: SLUICE_PG_", /names the setting SLUICE_PG_, which/],
  ['a\n\n```json\n{"a": 1,}\n```', /^docs\/page\.md:3: has a block of json that cannot be parsed: /],
  ["```yaml\na: [1\n```", /^docs\/page\.md:1: has a block of yaml that cannot be parsed: /],
  ["   ```yaml\n   a: 1\n   a: 2\n   ```", /Map keys must be unique/],
];
for (const [text, fault] of refused)
  test(`the check of code blocks refuses ${JSON.stringify(text)}`, () => {
    const found = faultsOf(text);
    assert.equal(found.length, 1, found.join());
    assert.match(found[0] ?? "", fault);
  });
