import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { waitFor } from "../../../../../tools/process/index.ts";
import { writeAtomically } from "./atomic.ts";
import { watchDirectory } from "./directory-watcher.ts";

interface Look {
  readonly paths: readonly string[];
  readonly areWhole: boolean;
}

async function scene(run: (directory: string, looks: readonly Look[]) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-watcher-"));
  const looks: Look[] = [];
  const watcher = watchDirectory({
    directory,
    interval: 60_000,
    onChange: async (paths, areWhole) => void looks.push({ paths: [...(paths ?? [])].sort(), areWhole }),
  });
  try {
    await run(directory, looks);
  } finally {
    watcher.stop();
    rmSync(directory, { recursive: true });
  }
}

test("a file of our writers is looked at before one that others wrote earlier, which is to be quiet first", () =>
  scene(async (directory, looks) => {
    writeFileSync(join(directory, "theirs.yaml"), "half");
    await writeAtomically(join(directory, "ours.yaml"), "whole", { durable: false });
    await waitFor(() => looks.length >= 2, { what: "both looks" });
    assert.deepEqual(looks, [
      { paths: ["ours.yaml"], areWhole: true },
      { paths: ["theirs.yaml"], areWhole: false },
    ]);
  }));

test("a file that is written in several steps is looked at once", () =>
  scene(async (directory, looks) => {
    for (const text of ["a", "ab", "abc"]) {
      writeFileSync(join(directory, "a.yaml"), text);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await waitFor(() => looks.length > 0, { what: "the look" });
    assert.deepEqual(looks, [{ paths: ["a.yaml"], areWhole: false }]);
  }));
