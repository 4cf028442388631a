import assert from "node:assert/strict";
import { test } from "node:test";
import { describeViolation } from "../document/describe.ts";
import { checkChange, checkFlatDocument } from "./check-outline.ts";

test("checkChange accepts a change with valid members, and adds put and remove if they are missing", () => {
  const change = { put: { services: [{}] }, remove: { routes: ["x"] }, endpoints: { x: null }, upstream_endpoints: {} };
  assert.deepEqual(checkChange(change).value, change);
  assert.deepEqual(checkChange({}).value, { put: {}, remove: {} });
});

for (const [data, expected] of [
  [[], ["expected a record"]],
  [{ put: [], remove: null }, ["put: expected a record", "remove: expected a record"]],
  [
    { put: { ledgers: [], services: {} }, x: 1 },
    ["put.ledgers: unknown field", "put.services: expected an array", "x: unknown field"],
  ],
  [{ remove: { services: ["x", 1] } }, ["remove.services[1]: expected a string"]],
] as const) {
  test(`the change ${JSON.stringify(data)} is refused`, () =>
    assert.deepEqual(checkChange(data).violations?.map(describeViolation), expected));
}

test("checkFlatDocument accepts a document with valid members, and an empty document", () => {
  const document = { _format_version: "3.0", services: [{}], _sluice: { endpoints: { x: [] } } };
  assert.equal(checkFlatDocument(document).value, document);
  assert.deepEqual(checkFlatDocument({}).value, {});
});

for (const [data, expected] of [
  [null, ["expected a record"]],
  [
    { services: {}, routes: 5, plugins: "x", consumers: null },
    [
      "services: expected an array",
      "routes: expected an array",
      "plugins: expected an array",
      "consumers: expected an array",
    ],
  ],
  [
    { _format_version: 3, _transform: "yes", _sluice: [] },
    ["_format_version: expected a string", "_transform: expected a boolean", "_sluice: expected a record"],
  ],
  [
    { ledgers: [], constructor: 1, _sluice: { endpoints: "x", upstream_endpoints: [], more: 1 } },
    [
      "ledgers: unknown field",
      "constructor: unknown field",
      "_sluice.endpoints: expected a record",
      "_sluice.upstream_endpoints: expected a record",
      "_sluice.more: unknown field",
    ],
  ],
  [{ _sluice: { listeners: {} } }, ["_sluice.listeners: expected an array"]],
] as const) {
  test(`the document ${JSON.stringify(data)} is refused`, () =>
    assert.deepEqual(checkFlatDocument(data).violations?.map(describeViolation), expected));
}
