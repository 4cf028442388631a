import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { isAvailable } from "./fleet-readiness.ts";

const condition = (type: string, status: string) => ({ type, status, reason: "", message: "" });
const [all, tooFew] = [condition("Available", "True"), condition("Available", "False")];
const [waiting, gaveUp] = [condition("Progressing", "True"), condition("Progressing", "False")];

for (const [what, status, expected] of [
  ["a Deployment without a status", {}, false],
  ["no node is ready", { availableReplicas: 0, conditions: [tooFew, waiting] }, false],
  ["no node is ready in time", { conditions: [tooFew, gaveUp] }, false],
  ["other nodes are awaited", { availableReplicas: 1, conditions: [tooFew, waiting] }, false],
  ["the other nodes do not become ready in time", { availableReplicas: 1, conditions: [tooFew, gaveUp] }, true],
  ["all nodes are ready", { availableReplicas: 2, conditions: [all, waiting] }, true],
  [
    "the status is that of an earlier version",
    { availableReplicas: 2, conditions: [all], observedGeneration: 1 },
    false,
  ],
] as const)
  test(`the nodes of a Deployment ${expected ? "can" : "cannot"} take over all requests: ${what}`, () => {
    const deployment = { metadata: { generation: 2 }, status: { observedGeneration: 2, ...status } };
    assert.equal(isAvailable(deployment as unknown as Resource), expected);
  });
