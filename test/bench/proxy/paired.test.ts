import assert from "node:assert/strict";
import { test } from "node:test";
import { pairedVerdicts } from "./paired.ts";

const costs = (...instructions: readonly (number | null)[]) =>
  instructions.map((each) => ({ cpu: 10, instructions: each }));

for (const [what, old, now, verdict] of [
  ["within the bound as met", [100, 300, 200], [204, 100, 300], "1.020 (bound 1.02: met)"],
  ["above the bound as missed", [200], [206], "1.030 (bound 1.02: MISSED)"],
  ["counted for one build only as not measured", [200], [null], "not measured, because this machine cannot count them"],
  [
    "that were not counted in one round as not measured",
    [200, null],
    [200, 200],
    "not measured, because this machine cannot count them",
  ],
] as const)
  test(`the comparison of two builds reports instructions ${what}`, () => {
    assert.deepEqual(pairedVerdicts("a route", { old: costs(...old), now: costs(...now) }), [
      `a route, instructions: ${verdict}`,
      "a route, CPU time: 1.000",
    ]);
  });
