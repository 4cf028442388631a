import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder, waitFor } from "../process/index.ts";
import { createPartLog, shownLine } from "./logs.ts";

const cases: readonly (readonly [what: string, line: string, words: string | undefined])[] = [
  ["a line of level info", '{"level":30,"msg":"up"}', undefined],
  ["a warning", '{"level":40,"time":1,"pid":2,"hostname":"h","name":"n","msg":"lost"}', "lost"],
  [
    "an error with its members",
    '{"level":50,"msg":"no","file":"a.yaml","lines":[1,2]}',
    "no (file: a.yaml, lines: [1,2])",
  ],
  ["an error with its cause", '{"level":50,"msg":"no","err":{"message":"why","stack":"s"}}', "no (cause: why)"],
  ["text that is not a log line", "SyntaxError: here", "SyntaxError: here"],
  ["JSON that is not a log line", "42", "42"],
  ["JSON that is null", "null", "null"],
  ["an empty line", " ", undefined],
];
for (const [what, line, words] of cases) {
  test(`on the terminal, ${what} is ${words === undefined ? "not shown" : `shown as '${words}'`}`, () => {
    assert.equal(shownLine(line), words);
  });
}

test("a line that arrives in pieces is shown once, and the log file ends with the last line", async () => {
  const folder = temporaryFolder("logs");
  after(() => folder.remove());
  const shown: string[] = [];
  const take = createPartLog("operator", { folder: folder.path, show: (line) => shown.push(line) });
  for (const piece of ['{"level":40,', '"msg":"one"}\n{"level":30,"msg":"two"}\nthr', "ee\n"]) take(piece);
  assert.deepEqual(shown, ["operator: one", "operator: three"]);
  const file = join(folder.path, "operator.log");
  await waitFor(() => readFileSync(file, "utf8").endsWith("three\n"), { what: "the log file to be complete" });
});
