import assert from "node:assert/strict";
import { test } from "node:test";
import { describeViolation } from "../document/describe.ts";
import { checkChange } from "./check-change.ts";

test("takes the outline of a change", () => {
  const change = { put: { services: [{}] }, remove: { routes: ["x"] }, endpoints: { x: null } };
  assert.deepEqual(checkChange(change).value, change);
  assert.deepEqual(checkChange({}).value, { put: {}, remove: {} });
});

for (const [data, expected] of [
  [[], ["expected a record"]],
  [{ put: [], remove: null }, ["put: expected a record", "remove: expected a record"]],
  [
    { put: { vaults: [], services: {} }, x: 1 },
    ["put.vaults: unknown field", "put.services: expected an array", "x: unknown field"],
  ],
  [{ remove: { services: ["x", 1] } }, ["remove.services[1]: expected a string"]],
] as const) {
  test(`refuses ${JSON.stringify(data)}`, () =>
    assert.deepEqual(checkChange(data).violations?.map(describeViolation), expected));
}
