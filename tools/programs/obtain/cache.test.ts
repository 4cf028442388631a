import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder } from "../../process/index.ts";
import { cacheFolder, cacheKeyOf } from "./cache.ts";

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
  const key = cacheKeyOf({ files: [main, sums], settings: ["-trimpath"] });
  assert.match(key, /^[0-9a-f]{12}$/);
  assert.equal(cacheKeyOf({ files: [sums, main], settings: ["-trimpath"] }), key);
  const elsewhere = [put("b/main.go", "package main"), put("b/go.sum", "sums")];
  assert.equal(cacheKeyOf({ files: elsewhere, settings: ["-trimpath"] }), key);
  const others = {
    "another flag": cacheKeyOf({ files: [main, sums], settings: ["-race"] }),
    "one flag more": cacheKeyOf({ files: [main, sums], settings: ["-trimpath", ""] }),
    "a flag split in two": cacheKeyOf({ files: [main, sums], settings: ["-trim", "path"] }),
    "another content": cacheKeyOf({ files: [main, put("c/go.sum", "sums!")], settings: ["-trimpath"] }),
    "another name": cacheKeyOf({ files: [main, put("c/go.mod", "sums")], settings: ["-trimpath"] }),
    "a removed file": cacheKeyOf({ files: [main], settings: ["-trimpath"] }),
  };
  assert.equal(new Set([key, ...Object.values(others)]).size, 7, JSON.stringify(others));
});

test("the cache is the folder SLUICE_CACHE, or else the folder `sluice` in XDG_CACHE_HOME", () => {
  const own = join(folder.path, "own");
  const xdg = join(folder.path, "xdg");
  assert.equal(cacheFolder({ SLUICE_CACHE: own, XDG_CACHE_HOME: xdg }), own);
  assert.equal(cacheFolder({ XDG_CACHE_HOME: xdg }), join(xdg, "sluice"));
});
