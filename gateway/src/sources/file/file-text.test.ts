import assert from "node:assert/strict";
import { promises, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { createFileText } from "./file-text.ts";

/** A file, and the number of times that it was opened for reading. */
function fileIn(context: TestContext) {
  const folder = temporaryFolder("file-text");
  const { mock } = context.mock.method(promises, "open");
  syncBuiltinESMExports();
  context.after(() => {
    mock.restore();
    syncBuiltinESMExports();
    folder.remove();
  });
  return { file: join(folder.path, "a.yaml"), reads: () => mock.callCount() };
}

test("a text is returned only once until it changes", async (context) => {
  const { file } = fileIn(context);
  writeFileSync(file, "one");
  const text = createFileText(file);
  assert.deepEqual([await text.read(), await text.read()], ["one", null]);
  writeFileSync(file, "two");
  assert.deepEqual([await text.read(), await text.read()], ["two", null]);
});

test("a text that the caller wrote is not returned", async (context) => {
  const { file } = fileIn(context);
  writeFileSync(file, "one");
  const text = createFileText(file);
  assert.equal(await text.read(), "one");
  writeFileSync(file, "mine");
  text.know("mine");
  assert.equal(await text.read(), null);
});

test("the text of a file that could not be read is returned when the file can be read again, even if it is the same text", async (context) => {
  const { file } = fileIn(context);
  writeFileSync(file, "one");
  const text = createFileText(file);
  assert.equal(await text.read(), "one");
  rmSync(file);
  await assert.rejects(text.read(), { code: "ENOENT" });
  writeFileSync(file, "one");
  assert.equal(await text.read(), "one");
});

test("a file is read repeatedly until its timestamps are old enough that any later write changes them, and after that only when they change", async (context) => {
  const { file, reads } = fileIn(context);
  writeFileSync(file, "one");
  const changing = createFileText(file, 60_000);
  for (let turn = 0; turn < 5; turn++) await changing.read();
  assert.ok(reads() >= 5, `read ${reads()} times`);
  const resting = createFileText(file, 0);
  // The first call reads the text because it is new, the second to confirm that it no longer changes.
  for (let turn = 0; turn < 2; turn++) await resting.read();
  const before = reads();
  for (let turn = 0; turn < 5; turn++) assert.equal(await resting.read(), null);
  assert.equal(reads(), before);
  writeFileSync(file, "two");
  assert.equal(await resting.read(), "two");
});
