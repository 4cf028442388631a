import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeConditions } from "./conditions.ts";
import type { Condition } from "./resource.ts";

const now = new Date("2026-11-21T10:00:00.123Z");
const earlier = "2026-11-20T10:00:00Z";
const condition = (type: string, more: Partial<Condition> = {}): Condition => ({
  type,
  status: "True",
  reason: "R",
  message: "m",
  lastTransitionTime: earlier,
  ...more,
});

test("mergeConditions replaces conditions by type and keeps all others in their order", () => {
  const merged = mergeConditions(
    [condition("A"), condition("B"), condition("C")],
    [condition("B", { status: "False" })],
    now,
  );
  assert.deepEqual(merged, [
    condition("A"),
    condition("B", { status: "False", lastTransitionTime: "2026-11-21T10:00:00Z" }),
    condition("C"),
  ]);
});

test("mergeConditions changes the transition time only with the status", () => {
  const table: readonly (readonly [Partial<Condition>, string])[] = [
    [{ message: "other" }, earlier],
    [{ observedGeneration: 2 }, earlier],
    [{ status: "Unknown" }, "2026-11-21T10:00:00Z"],
  ];
  for (const [change, time] of table)
    assert.equal(mergeConditions([condition("A")], [condition("A", change)], now)?.[0]?.lastTransitionTime, time);
});

test("mergeConditions returns null when no condition changes", () => {
  assert.equal(mergeConditions([condition("A")], [condition("A", { lastTransitionTime: undefined })], now), null);
  assert.equal(mergeConditions([condition("A")], [], now), null);
});
