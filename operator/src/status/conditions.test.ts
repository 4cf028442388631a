import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition, Resource } from "@sluice/crds";
import { conditionsOf, hasConditions, type Problem, type ProgrammedState } from "./conditions.ts";

const resource = (conditions?: readonly Condition[]): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Route",
  metadata: { name: "users", namespace: "default", generation: 3 },
  ...(conditions && { status: { conditions } }),
});
const invalid: Problem = { condition: "Accepted", reason: "Invalid", message: "spec.paths: wrong" };
const missing: Problem = { condition: "ResolvedRefs", reason: "ServiceNotFound", message: "there is no Service users" };
const warning: Problem = { ...missing, reason: "ProtocolMismatch", isWarning: true };
const done = { programmed: true, message: "" };
const pending = { programmed: false, message: "Waiting for the nodes a." };

const lacking = { ...done, missing: "The nodes a do not have the plugin words." };

const shown = (problems: readonly Problem[], progress: ProgrammedState) =>
  conditionsOf(resource(), problems, progress).map(({ status, reason }) => `${status} ${reason}`);

const cases: readonly (readonly [string, readonly Problem[], ProgrammedState, readonly string[]])[] = [
  ["that every ready node serves", [], done, ["True Accepted", "True ResolvedRefs", "True Programmed"]],
  ["that not every ready node serves yet", [], pending, ["True Accepted", "True ResolvedRefs", "Unknown Pending"]],
  ["whose plugin some nodes lack", [], lacking, ["True Accepted", "True ResolvedRefs", "False PluginMissing"]],
  [
    "that is invalid and whose plugin some nodes lack",
    [invalid],
    lacking,
    ["False Invalid", "True ResolvedRefs", "False Invalid"],
  ],
  ["that is invalid", [invalid], done, ["False Invalid", "True ResolvedRefs", "False Invalid"]],
  ["with a missing reference", [missing], done, ["True Accepted", "False ServiceNotFound", "False ServiceNotFound"]],
  ["with a warning", [warning], done, ["True Accepted", "False ProtocolMismatch", "True Programmed"]],
  ["with a warning and pending", [warning], pending, ["True Accepted", "False ProtocolMismatch", "Unknown Pending"]],
  [
    "with a warning, that is invalid",
    [warning, invalid],
    done,
    ["False Invalid", "False ProtocolMismatch", "False Invalid"],
  ],
  [
    "that is invalid and has a missing reference",
    [invalid, missing],
    done,
    ["False Invalid", "False ServiceNotFound", "False Invalid"],
  ],
];
for (const [what, problems, progress, expected] of cases)
  test(`a resource ${what} has the conditions ${expected.join(", ")}`, () =>
    assert.deepEqual(shown(problems, progress), expected));

test("Accepted has the messages of all its problems and the generation; Programmed has the first message or the progress", () => {
  const [accepted, , programmed] = conditionsOf(resource(), [invalid, { ...invalid, message: "more" }], pending);
  assert.deepEqual([accepted?.message, accepted?.observedGeneration], ["spec.paths: wrong; more", 3]);
  assert.equal(programmed?.message, "spec.paths: wrong");
  assert.equal(conditionsOf(resource(), [], pending)[2]?.message, pending.message);
  assert.deepEqual(
    conditionsOf(resource(), [], done).map(({ message }) => message),
    ["The resource is valid.", "Everything that the resource refers to was found.", "Every ready node serves it."],
  );
});

test("a message is truncated to Kubernetes' limit", () => {
  const [accepted] = conditionsOf(resource(), [{ ...invalid, message: "x".repeat(40_000) }], done);
  assert.equal(accepted?.message.length, 32_768);
});

test("conditions are compared by everything except their transition time", () => {
  const conditions = conditionsOf(resource(), [], done);
  const timed = conditions.map((condition) => ({ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }));
  const foreign: Condition = { type: "Foreign", status: "True", reason: "Other", message: "" };
  assert.equal(hasConditions(resource([foreign, ...timed]), conditions), true);
  assert.equal(hasConditions(resource(), conditions), false);
  for (const change of [{ status: "False" as const }, { reason: "X" }, { message: "x" }, { observedGeneration: 2 }])
    assert.equal(hasConditions(resource(timed.map((one) => ({ ...one, ...change }))), conditions), false);
});

test("the outcome of a problem is part of the message of Programmed only", () => {
  const [accepted, , programmed] = conditionsOf(
    resource(),
    [{ ...invalid, outcome: "the resource is not served" }],
    pending,
  );
  assert.equal(accepted?.message, "spec.paths: wrong");
  assert.equal(programmed?.message, "spec.paths: wrong; the resource is not served");
});
