import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { DatabaseUnreachable } from "../../../gateway/src/database/driver.ts";
import { openEmbedded } from "../../../gateway/src/database/embedded/embedded.ts";
import { FolderInUse } from "../../../gateway/src/database/embedded/folder.ts";
import { startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { withNodeDatabase } from "../../../tools/programs/servers/embedded-database.ts";
import { describeMigrations } from "./migrations.ts";
import { describeDatabase } from "./suite.ts";

const prepared = temporaryFolder("embedded");
after(() => prepared.remove());
const prepare = (name: string) => withNodeDatabase(join(prepared.path, name));

describeDatabase("the embedded database", async () => {
  const database = await openEmbedded();
  return { database, close: () => database.close() };
});
describeMigrations("the embedded database", async () => {
  const database = await openEmbedded({ folder: await prepare("migrations") });
  return { database, close: () => database.close() };
});

test("an embedded database keeps its data in its folder, which other users cannot read and no second process can open", async () => {
  const folder = temporaryFolder("embedded");
  const path = join(folder.path, "database");
  try {
    const first = await openEmbedded({ folder: path });
    assert.equal(statSync(path).mode & 0o777, 0o700);
    await first.script("create schema sluice; create table kept (word text); insert into kept values ('kept')");

    const source = new URL("../../../gateway/src/database/embedded/embedded.ts", import.meta.url).href;
    const script = `const { openEmbedded } = await import(${JSON.stringify(source)});
      await openEmbedded({ folder: ${JSON.stringify(path)} }).catch((error) => console.log(error.name, error.message));`;
    const other = await startProcess(process.execPath, ["--input-type=module", "-e", script], { name: "other" });
    assert.equal((await other.ended()).code, 0);
    assert.match(other.tail(), /FolderInUse the embedded database in .* is in use by another process/);
    await assert.rejects(openEmbedded({ folder: path }), FolderInUse);

    await first.close();
    await assert.rejects(first.query("select 1"), DatabaseUnreachable);
    assert.match(first.failure() ?? "", /has ended/);
    const second = await openEmbedded({ folder: path });
    assert.deepEqual(await second.query("select word from kept"), [{ word: "kept" }]);
    await second.close();
  } finally {
    folder.remove();
  }
});

test("an embedded database keeps committed data when its process is killed", async () => {
  const folder = temporaryFolder("embedded");
  try {
    const path = await prepare("killed");
    const source = new URL("../../../gateway/src/database/embedded/embedded.ts", import.meta.url).href;
    const script = `const { openEmbedded } = await import(${JSON.stringify(source)});
      const database = await openEmbedded({ folder: ${JSON.stringify(path)} });
      await database.script("create schema sluice; create table things (n int primary key)");
      for (let n = 0; ; n++) {
        await database.query("insert into things values ($1)", [n]);
        console.log("wrote " + n);
      }`;
    const file = join(folder.path, "writer.mjs");
    writeFileSync(file, script);
    const writer = await startProcess(process.execPath, [file], { name: "writer", ready: /wrote 200/ });
    await writer.kill9();
    const written = Number(/wrote (\d+)\n(?!.*wrote)/s.exec(writer.output())?.[1]);
    const database = await openEmbedded({ folder: path });
    const [row] = await database.query("select count(*) as count, max(n) as last from things");
    await database.close();
    assert.ok(Number(row?.last) >= written, `${row?.last} of ${written}`);
    assert.equal(row?.count, Number(row?.last) + 1);
  } finally {
    folder.remove();
  }
});

test("an embedded database does not block the event loop while it works", async () => {
  const database = await openEmbedded({ folder: await prepare("busy") });
  try {
    const working = database.query(
      "select count(*) from generate_series(1, 200000) a, lateral (select md5(a::text)) b",
    );
    let turns = 0;
    const done = working.then(() => true);
    const turn = () => new Promise<boolean>((resolve) => setImmediate(resolve, false));
    while (!(await Promise.race([done, turn()]))) turns++;
    assert.ok(turns > 100, `${turns} turns of the event loop`);
  } finally {
    await database.close();
  }
});

test("an embedded database vacuums and writes a checkpoint after writes, and writes no checkpoint without writes", async () => {
  const database = await openEmbedded({ folder: await prepare("checkpoints"), upkeep: 10 });
  const checkpoint = async () =>
    (await database.query("select redo_lsn::text as at from pg_control_checkpoint()"))[0]?.at;
  try {
    await database.script("create schema sluice; create table things (word text)");
    let before = await checkpoint();
    for (let round = 0; round < 12; round++) {
      await database.query("insert into things values ('a')");
      await waitFor(async () => (await checkpoint()) !== before, { what: "a checkpoint" });
      before = await checkpoint();
    }
    const [row] = await database.query("select reltuples::int as rows from pg_class where relname = 'things'");
    assert.ok(Number(row?.rows) > 0, "the table has been vacuumed");
    let looks = 0;
    await waitFor(() => ++looks === 5, { what: "five checks" });
    assert.equal(await checkpoint(), before);
  } finally {
    await database.close();
  }
});
