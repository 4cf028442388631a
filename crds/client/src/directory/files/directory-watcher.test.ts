import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { waitFor } from "../../../../../tools/process/index.ts";
import { writeAtomically } from "./atomic.ts";
import { watchDirectory } from "./directory-watcher.ts";

async function scene(run: (directory: string, looks: readonly (readonly string[])[]) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-watcher-"));
  const looks: string[][] = [];
  const stop = watchDirectory({
    directory,
    interval: 60_000,
    onChange: async (paths) => void looks.push([...(paths ?? [])].sort()),
  });
  try {
    await run(directory, looks);
  } finally {
    stop();
    rmSync(directory, { recursive: true });
  }
}

test("written files are reported before the next rescan", () =>
  scene(async (directory, looks) => {
    writeFileSync(join(directory, "theirs.yaml"), "half");
    await writeAtomically(join(directory, "ours.yaml"), "whole", { durable: false });
    await waitFor(() => looks.flat().includes("ours.yaml"), { what: "the files to be reported" });
    assert.deepEqual([...new Set(looks.flat())].sort(), ["ours.yaml", "theirs.yaml"]);
  }));

test("a file that an editor moves away and writes anew is reported once, when it exists again", () =>
  scene(async (directory, looks) => {
    const file = join(directory, "a.yaml");
    writeFileSync(file, "a");
    await waitFor(() => looks.length > 0, { what: "the new file to be reported" });
    const before = looks.length;
    renameSync(file, `${file}~`);
    await new Promise((resolve) => setImmediate(resolve));
    writeFileSync(file, "ab");
    await waitFor(() => looks.length > before, { what: "the replaced file to be reported" });
    assert.deepEqual(looks.slice(before), [["a.yaml", "a.yaml~"]]);
  }));

test("a file that is moved away and written anew while the event loop is blocked is reported once", () =>
  scene(async (directory, looks) => {
    const file = join(directory, "a.yaml");
    writeFileSync(file, "a");
    await waitFor(() => looks.length > 0, { what: "the new file to be reported" });
    const before = looks.length;
    renameSync(file, `${file}~`);
    await new Promise((resolve) => setImmediate(resolve));
    for (const end = performance.now() + 50; performance.now() < end; );
    writeFileSync(file, "ab");
    writeFileSync(join(directory, "last.yaml"), "");
    await waitFor(() => looks.flat().includes("last.yaml"), { what: "the last file to be reported" });
    assert.deepEqual(looks.slice(before), [["a.yaml", "a.yaml~", "last.yaml"]]);
  }));

test("a moved file is reported together with its old path", () =>
  scene(async (directory, looks) => {
    writeFileSync(join(directory, "old.yaml"), "a");
    await waitFor(() => looks.length > 0, { what: "the new file to be reported" });
    const before = looks.length;
    renameSync(join(directory, "old.yaml"), join(directory, "new.yaml"));
    await waitFor(() => looks.length > before, { what: "the moved file to be reported" });
    assert.deepEqual(looks.slice(before), [["new.yaml", "old.yaml"]]);
  }));

test("files that are removed one after the other do not delay reports of other files", () =>
  scene(async (directory, looks) => {
    const files = Array.from({ length: 50 }, (_, at) => join(directory, `${at}.yaml`));
    for (const file of files) writeFileSync(file, "a");
    await waitFor(() => looks.flat().includes("49.yaml"), { what: "the new files to be reported" });
    const before = looks.length;
    for (const file of files) {
      rmSync(file);
      writeFileSync(join(directory, "other.yaml"), file);
      await pause(10);
    }
    assert.ok(looks.slice(before).flat().includes("other.yaml"), "reported before the last one was removed");
  }));
