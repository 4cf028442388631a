import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { userStoreSuite } from "../../../test/conformance/user-store/suite.ts";
import { FolderInUse, lockFolder } from "./folder-lock.ts";
import { openPglite } from "./pglite.ts";
import { openUserStore } from "./sql-store.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

describe("PGlite in a folder", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "user-api-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  // Making the files takes seconds, so all tests share one folder. app.test.ts tests PGlite in memory.
  userStoreSuite({ name: "PGlite", open: () => openPglite({ folder }) });

  it("keeps its users over a restart, and is locked only while it runs", async () => {
    const store = await openUserStore(await openPglite({ folder }));
    assert.ok((await store.users()).length > 0);
    await assert.rejects(openPglite({ folder }), FolderInUse);
    await store.close();
    assert.deepEqual(await readdir(folder), ["pglite"]);
    await assert.rejects(store.ping(), /the embedded database is closed/);
  });

  it("keeps nothing of the queries that it has answered", async () => {
    const database = await openPglite({ folder });
    const retainedBy = async (count: number): Promise<number> => {
      collectGarbage();
      const before = process.memoryUsage().heapUsed;
      for (let at = 0; at < count; at++) await database.query("select 1");
      collectGarbage();
      return process.memoryUsage().heapUsed - before;
    };
    await retainedBy(500);
    const retained = await retainedBy(4_000);
    assert.ok(retained < 4_000 * 100, `${retained} bytes`);
    await database.close();
  });

  it("reports a folder that cannot be created", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    await assert.rejects(openPglite({ folder: join(file, "data") }), /ENOTDIR.*file/);
  });
});

describe("the lock of a folder", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "user-api-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("names the process that holds the lock, and is released when that process ends", async () => {
    const script = `import { lockFolder } from ${JSON.stringify(import.meta.resolve("./folder-lock.ts"))};
      await lockFolder(${JSON.stringify(folder)}); console.log("locked"); setInterval(() => {}, 1000);`;
    const other = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(other.stdout, "data");
    await assert.rejects(lockFolder(folder), new RegExp(`in use by process ${other.pid};`));
    other.kill("SIGKILL");
    await once(other, "exit");
    const unlock = await lockFolder(folder);
    await unlock();
  });

  const leftovers = [
    ["of a process whose pid now belongs to another process", `${process.pid} 1`],
    ["that is empty", ""],
    ["that contains no pid", "-1"],
  ] as const;
  for (const [what, content] of leftovers) {
    it(`replaces a leftover file ${what}`, async () => {
      await writeFile(join(folder, "lock"), content);
      const unlock = await lockFolder(folder);
      assert.match(await readFile(join(folder, "lock"), "utf8"), new RegExp(`^${process.pid} `));
      await unlock();
    });
  }
});
