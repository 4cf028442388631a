import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { testedProfiles, unsupportedFeatures } from "./features.ts";
import { reportPath } from "./report.ts";

interface ReportedProfile {
  readonly name: string;
  readonly extended?: { readonly unsupportedFeatures?: readonly string[] };
}

const text = readFileSync(join(import.meta.dirname, "../..", reportPath), "utf8");
const reported: readonly ReportedProfile[] = parse(text).profiles;

test("the kept report has the tested profiles, and exactly its unsupported features have a reason", () => {
  assert.deepEqual(reported.map(({ name }) => name).toSorted(), testedProfiles.toSorted());
  const unsupported = new Set(reported.flatMap(({ extended }) => extended?.unsupportedFeatures ?? []));
  assert.deepEqual([...unsupported].toSorted(), Object.keys(unsupportedFeatures).toSorted());
});
