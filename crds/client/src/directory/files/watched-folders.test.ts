import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor } from "../../../../../tools/process/index.ts";
import { removeAtomically, writeAtomically } from "./atomic.ts";
import { type WatchedFolders, watchFolders } from "./watched-folders.ts";

interface Scene {
  readonly directory: string;
  readonly folders: WatchedFolders;
  /** Waits for a notification of this path; null: anything may have changed. */
  reports(path: string | null): Promise<void>;
  readonly all: (string | null)[];
}

async function scene(run: (scene: Scene) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-folders-"));
  const all: (string | null)[] = [];
  const folders = watchFolders(directory, (path) => all.push(path));
  try {
    await run({
      directory,
      folders,
      all,
      reports: (path) => waitFor(() => all.includes(path), { what: `${path} to be reported` }).then(() => {}),
    });
  } finally {
    folders.stop();
    rmSync(directory, { recursive: true });
  }
}

test("the path of a changed file is reported, unless the file is hidden or in a hidden folder other than .status", () =>
  scene(async ({ directory, folders, reports, all }) => {
    mkdirSync(join(directory, "deep/er"), { recursive: true });
    mkdirSync(join(directory, ".git"));
    mkdirSync(join(directory, ".status/service"), { recursive: true });
    assert.equal(folders.refresh(), true);
    assert.equal(folders.refresh(), false);
    writeFileSync(join(directory, ".git/a.yaml"), "");
    writeFileSync(join(directory, "deep/er/.b.yaml.tmp"), "");
    for (const path of ["a.yaml", "deep/er/b.yaml", ".status/service/c.json"]) {
      writeFileSync(join(directory, path), "");
      await reports(path);
    }
    assert.deepEqual([...new Set(all)], ["a.yaml", "deep/er/b.yaml", ".status/service/c.json"]);
  }));

test("a new folder is watched, and so is a folder that replaced another folder", () =>
  scene(async ({ directory, folders, reports, all }) => {
    folders.refresh();
    mkdirSync(join(directory, "new"));
    await reports(null);
    writeFileSync(join(directory, "new/a.yaml"), "");
    await reports("new/a.yaml");
    all.length = 0;
    renameSync(join(directory, "new"), join(directory, "old"));
    mkdirSync(join(directory, "new"));
    await reports(null);
    // The notifications of the rename and of the new folder arrive together, and each is handled on arrival.
    await new Promise((resolve) => setImmediate(resolve));
    for (const path of ["old/b.yaml", "new/b.yaml"]) {
      writeFileSync(join(directory, path), "");
      await reports(path);
    }
  }));

test("a directory that is created again is watched from the next refresh on", () =>
  scene(async ({ directory, folders, reports }) => {
    folders.refresh();
    rmSync(directory, { recursive: true });
    assert.equal(folders.refresh(), false);
    mkdirSync(directory);
    assert.equal(folders.refresh(), true);
    writeFileSync(join(directory, "a.yaml"), "");
    await reports("a.yaml");
  }));

test("a file that Sluice's writers create or remove is reported, and so is a file that other programs write or move", () =>
  scene(async ({ directory, folders, reports, all }) => {
    folders.refresh();
    const file = join(directory, "a.yaml");
    const steps: readonly (() => Promise<void> | void)[] = [
      () => writeAtomically(file, "a"),
      () => writeAtomically(file, "b"),
      () => removeAtomically(file),
      () => writeFileSync(file, "c"),
      () => renameSync(file, join(directory, ".a.yaml.swp")),
      () => renameSync(join(directory, ".a.yaml.swp"), file),
    ];
    for (const step of steps) {
      all.length = 0;
      await step();
      await reports("a.yaml");
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual([...new Set(all)], ["a.yaml"]);
    }
  }));
