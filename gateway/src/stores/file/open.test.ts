import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { shareFile } from "./open.ts";

const log = { info() {}, warn() {}, error() {} };

test("a process that may write a file removes the temporary file of a killed writer, and no other file", async () => {
  const folder = temporaryFolder("open-file");
  const others = [".a.yml.0123456789abc", ".a.yml.swp", ".b.yml.0123456789ab", "a.yml.0123456789ab"];
  for (const name of ["a.yml", ".a.yml.0123456789ab", ...others]) writeFileSync(join(folder.path, name), "");
  const settings = { file: join(folder.path, "a.yml"), fileWritable: true, unprotectWait: 0 };
  const reader = await shareFile({ ...settings, fileWritable: false }, log);
  assert.ok(readdirSync(folder.path).includes(".a.yml.0123456789ab"));
  const shared = await shareFile(settings, log);
  const left = readdirSync(folder.path).filter((name) => !name.startsWith(".a.yml.lock"));
  assert.deepEqual(left.sort(), [...others, "a.yml"].sort());
  await shared.close();
  await reader.close();
  folder.remove();
});
