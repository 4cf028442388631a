import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, mock, test } from "node:test";
import { PGlite } from "@electric-sql/pglite";
import { durableOptions, syncAll } from "./durable-files.ts";
import { hasDatabase } from "./folder.ts";

const syncs = [mock.method(fs, "fsyncSync"), mock.method(fs, "fdatasyncSync")];
syncBuiltinESMExports();

const folder = fs.mkdtempSync(join(tmpdir(), "embedded-files-"));
let pglite: PGlite;

before(async () => {
  assert.equal(hasDatabase(folder), false);
  pglite = await PGlite.create(durableOptions(folder));
  await pglite.exec("create table things (n int); create unlogged table scraps (n int)");
});
after(async () => {
  await pglite.close();
  fs.rmSync(folder, { recursive: true });
});

const countSyncs = (): number => syncs.reduce((sum, one) => sum + one.mock.callCount(), 0);

const syncsDuring = async (sql: string): Promise<number> => {
  const count = countSyncs();
  await pglite.exec(sql);
  return countSyncs() - count;
};

for (const [what, sql, expected] of [
  ["a commit waits for the disk", "insert into things values (1)", 1],
  ["many writes in one transaction wait once for the disk", "begin; insert into things values (2), (3); commit", 1],
  ["a read does not wait for the disk", "select * from things", 0],
  ["an unlogged write does not wait for the disk", "insert into scraps values (1)", 0],
] as const)
  test(what, async () => assert.equal(await syncsDuring(sql), expected));

test("a checkpoint writes the tables to the disk", async () => {
  assert.ok((await syncsDuring("checkpoint")) > 1);
});

test("a new folder can be synced to the disk completely", async () => {
  assert.equal(hasDatabase(folder), true);
  await syncAll(folder);
});
