import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "../../resource.ts";
import { internConditionStrings } from "./trim-object.ts";

const statusOf = (message: string): Resource["status"] =>
  JSON.parse(JSON.stringify({ conditions: [{ type: "Accepted", status: "True", message, observedGeneration: 3 }] }));

for (const [what, message] of [
  ["short", "The resource is valid."],
  ["long", "x".repeat(1000)],
] as const)
  test(`sharing the strings of a status does not change the status (${what} message)`, () => {
    const status = statusOf(message);
    internConditionStrings(status);
    assert.deepEqual(status, statusOf(message));
  });

for (const status of [undefined, {}, { conditions: [] }, { conditions: "none" } as unknown as Resource["status"]])
  test(`a status without conditions is unchanged: ${JSON.stringify(status)}`, () => {
    const before = structuredClone(status);
    internConditionStrings(status);
    assert.deepEqual(status, before);
  });
