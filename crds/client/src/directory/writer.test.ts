/** Writes to files that people edit at the same time without a lock. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Conflict } from "../resource.ts";
import { createDirectoryReader, type DirectoryReader } from "./directory-reader.ts";
import { writeAtomically } from "./files/atomic.ts";
import { createDirectoryWriter } from "./writer.ts";

const service = (name: string, more = ""): string =>
  `apiVersion: sluice.dev/v1alpha1\nkind: Service\nmetadata:\n  name: ${name}\nspec:\n  url: http://x${more}\n`;
const apiVersion = "sluice.dev/v1alpha1";
const asked = { apiVersion, kind: "Service", metadata: { name: "a", namespace: "default" }, spec: { url: "http://y" } };
const inRecords = <Result>(run: () => Promise<Result>) => run();
const ref = { kind: "Service", namespace: "default", name: "a" } as const;

async function bench(run: (directory: string, file: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-writer-"));
  mkdirSync(join(directory, ".status"));
  try {
    await run(directory, join(directory, "all.yaml"));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A reader of a folder whose file is edited right after each of the first reads. */
function edited(directory: string, edits: (() => void)[]): DirectoryReader {
  const quiet = () => {};
  const log = { info: quiet, warn: quiet, error: quiet };
  const folder = createDirectoryReader({ directory, log, unprotectWait: 0, onWait: quiet, onView: quiet });
  return {
    ...folder,
    async findAfterRescan(wanted) {
      const held = await folder.findAfterRescan(wanted);
      edits.shift()?.();
      return held;
    },
  };
}

test("an update keeps another writer's change that was saved while the update was prepared", () =>
  bench(async (directory, file) => {
    writeFileSync(file, `${service("a")}---\n${service("b")}`);
    const folder = edited(directory, [
      () => writeFileSync(file, `${service("a")}---\n${service("b", "/edited")}`),
      () => writeFileSync(file, `${service("c")}---\n${service("a")}---\n${service("b", "/edited")}`),
    ]);
    await createDirectoryWriter({ directory, folder, withRecordLock: inRecords }).apply("Service", asked, undefined);
    const written = service("a").replace("http://x", "http://y");
    assert.equal(readFileSync(file, "utf8"), `${service("c")}---\n${written}---\n${service("b", "/edited")}`);
  }));

test("a removal keeps another writer's change that was saved while the removal was prepared", () =>
  bench(async (directory, file) => {
    writeFileSync(file, service("a"));
    const folder = edited(directory, [() => writeFileSync(file, `${service("b")}---\n${service("a")}`)]);
    assert.equal(
      await createDirectoryWriter({ directory, folder, withRecordLock: inRecords }).remove(ref, undefined),
      true,
    );
    assert.equal(readFileSync(file, "utf8"), service("b"));
  }));

test("another writer that saves without a pause causes a conflict error", () =>
  bench(async (directory, file) => {
    let count = 0;
    const save = () => writeFileSync(file, service("a", `/${count++}`));
    save();
    const folder = edited(
      directory,
      Array.from({ length: 100 }, () => save),
    );
    const update = createDirectoryWriter({ directory, folder, withRecordLock: inRecords }).apply(
      "Service",
      asked,
      undefined,
    );
    await assert.rejects(update, (error) => error instanceof Conflict && error.reason === "changed");
  }));

test("a file is replaced only if its content has not changed since it was read", () =>
  bench(async (directory, file) => {
    writeFileSync(file, "edited");
    await assert.rejects(
      writeAtomically(file, "new", { replaces: "read" }),
      (error) => error instanceof Conflict && error.reason === "changed",
    );
    assert.equal(readFileSync(file, "utf8"), "edited");
    await writeAtomically(file, "new", { replaces: "edited" });
    assert.equal(readFileSync(file, "utf8"), "new");
    assert.deepEqual(readdirSync(directory).sort(), [".status", "all.yaml"]);
  }));

test("a removed resource does not return from another file that also contains it", () =>
  bench(async (directory, file) => {
    const other = join(directory, "other.yaml");
    writeFileSync(file, service("a"));
    writeFileSync(other, `${service("a", "/twin")}---\n${service("b")}`);
    const folder = edited(directory, []);
    assert.equal(
      await createDirectoryWriter({ directory, folder, withRecordLock: inRecords }).remove(ref, undefined),
      true,
    );
    assert.equal(await folder.find(ref), undefined);
    assert.equal(readFileSync(other, "utf8"), `---\n${service("b")}`);
  }));
