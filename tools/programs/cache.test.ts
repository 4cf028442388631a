import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder } from "../process/index.ts";
import { cacheFolder, keyOf } from "./cache.ts";

const folder = temporaryFolder("cache-test");
after(() => folder.remove());

function put(name: string, text: string): string {
  const path = join(folder.path, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
}

test("a key depends on names, contents and settings, not on the folder of a file or on the order of files", () => {
  const main = put("a/main.go", "package main");
  const sums = put("a/go.sum", "sums");
  const key = keyOf({ files: [main, sums], settings: ["-trimpath"] });
  assert.match(key, /^[0-9a-f]{12}$/);
  assert.equal(keyOf({ files: [sums, main], settings: ["-trimpath"] }), key);
  const elsewhere = [put("b/main.go", "package main"), put("b/go.sum", "sums")];
  assert.equal(keyOf({ files: elsewhere, settings: ["-trimpath"] }), key);
  const others = {
    "another flag": keyOf({ files: [main, sums], settings: ["-race"] }),
    "one flag more": keyOf({ files: [main, sums], settings: ["-trimpath", ""] }),
    "a flag split in two": keyOf({ files: [main, sums], settings: ["-trim", "path"] }),
    "another content": keyOf({ files: [main, put("c/go.sum", "sums!")], settings: ["-trimpath"] }),
    "another name": keyOf({ files: [main, put("c/go.mod", "sums")], settings: ["-trimpath"] }),
    "a removed file": keyOf({ files: [main], settings: ["-trimpath"] }),
  };
  assert.equal(new Set([key, ...Object.values(others)]).size, 7, JSON.stringify(others));
});

test("the cache is in the folder SLUICE_CACHE, or in XDG_CACHE_HOME", () => {
  const own = join(folder.path, "own");
  const xdg = join(folder.path, "xdg");
  assert.equal(cacheFolder({ SLUICE_CACHE: own, XDG_CACHE_HOME: xdg }), own);
  assert.equal(cacheFolder({ XDG_CACHE_HOME: xdg }), join(xdg, "sluice"));
});
