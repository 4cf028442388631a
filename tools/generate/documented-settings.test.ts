import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { knownVariables } from "../../crds/model/src/settings/known-variables.ts";
import { root, sourcePaths } from "../check/source-files.ts";

const pages = sourcePaths().filter((path) => path.endsWith(".md") && !path.startsWith("test/"));

/**
 * Whether a setting has this name. A name that ends in `_` stands for all settings with this prefix if a character
 * follows it (`next`), as in `SLUICE_PG_*` and `SLUICE_USER_API_…`.
 */
const isKnown = (name: string, next: string): boolean =>
  knownVariables.includes(name) ||
  (name.endsWith("_") && next !== "" && knownVariables.some((known) => known.startsWith(name)));

for (const page of pages) {
  test(`every setting that ${page} names exists`, () => {
    const text = readFileSync(join(root, page), "utf8");
    const named = [...text.matchAll(/\b(SLUICE_[A-Z0-9_]+)(.?)/g)];
    assert.deepEqual(
      named.flatMap(([, name = "", next = ""]) => (isKnown(name, next) ? [] : [name])),
      [],
    );
  });
}
