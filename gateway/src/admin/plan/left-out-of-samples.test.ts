/** What the samples of plans do not contain. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoreProblem } from "../../stores/store.ts";
import { leftOutOfSamples } from "./left-out-of-samples.ts";

const operator = "Ingresses and resources of the Gateway API: only the operator translates them";
const problem = (name: string, condition: string | null): StoreProblem => ({
  resource: { kind: "Route", namespace: "shop", name },
  entity: null,
  place: null,
  condition,
  reason: "Invalid",
  message: "spec.paths[0]: should start with: /",
  suggested: [],
});
const sentence = (name: string) =>
  `Route shop/${name} is not served as written: Accepted is False (Invalid): spec.paths[0]: should start with: /`;

test("in a store of custom resources, the samples lack invalid resources, which are named with their conditions", async () => {
  const all = [problem("bad", "Programmed"), problem("bad", "Accepted")];
  for (const store of ["cluster", "directory"] as const)
    assert.deepEqual(await leftOutOfSamples({ problems: async () => all }, store), [operator, sentence("bad")]);
});

test("at most twenty conditions of invalid resources are listed", async () => {
  const problems = async () => Array.from({ length: 25 }, (_, at) => problem(`r${at}`, "Accepted"));
  const told = await leftOutOfSamples({ problems }, "cluster");
  assert.equal(told.length, 22);
  assert.equal(told.at(-1), "5 further conditions of invalid resources: GET /problems lists them");
});

test("in other stores, the samples lack nothing that nodes serve", async () => {
  assert.deepEqual(await leftOutOfSamples({ problems: async () => [problem("bad", "Accepted")] }, "file"), []);
});
