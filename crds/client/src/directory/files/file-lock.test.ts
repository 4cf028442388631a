import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { createFileLock } from "./file-lock.ts";

async function inFolder(run: (path: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-lock-"));
  try {
    await run(join(folder, "lock"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the lock admits one holder at a time among all users of the file", () =>
  inFolder(async (path) => {
    const locks = [createFileLock(path), createFileLock(path)];
    let inside = 0;
    const visit = async () => {
      assert.equal(++inside, 1);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
    };
    await Promise.all(locks.flatMap((lock) => Array.from({ length: 10 }, () => lock.run(visit))));
  }));

test("the lock is released when the function that holds it fails", () =>
  inFolder(async (path) => {
    const lock = createFileLock(path);
    await assert.rejects(
      lock.run(async () => {
        throw new Error("inside");
      }),
      /inside/,
    );
    assert.equal(await createFileLock(path).run(async () => "in"), "in");
  }));

test("the lock passes to the next process when its holder is killed", () =>
  inFolder(async (path) => {
    const code = `import { createFileLock } from ${JSON.stringify(new URL("./file-lock.ts", import.meta.url).href)};
      void createFileLock(${JSON.stringify(path)}).run(() => { console.log("held"); return new Promise(() => setInterval(() => {}, 1e6)); });`;
    const holder = spawn(process.execPath, ["--input-type=module-typescript", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(holder, "exit");
    try {
      await once(holder.stdout, "data");
      const other = new DatabaseSync(path);
      assert.throws(() => other.exec("BEGIN IMMEDIATE"), /locked/, "the lock is held while the process is alive");
      other.close();
      let killed = false;
      const next = createFileLock(path).run(async () => assert.ok(killed));
      killed = holder.kill("SIGKILL");
      await next;
    } finally {
      holder.kill("SIGKILL");
      await exited;
    }
  }));
