import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointResponse } from "@sluice/plugin-sdk";
import { checkedEndpointResponse, mergeEndpointResponses } from "./merge-endpoint-responses.ts";

for (const [statuses, expected] of [
  [[404, 204], 204],
  [[204, 503, 500], 503],
  [[404, 404], 404],
] as const)
  test(`responses with the statuses ${statuses.join(" and ")} are merged to one with status ${expected}`, () => {
    assert.equal(mergeEndpointResponses(statuses.map((status) => ({ status })))?.status, expected);
  });

test("an empty list of responses is merged to null", () => assert.equal(mergeEndpointResponses([]), null));

test("a merged response concerns shared state only if every response does", () => {
  const shared: EndpointResponse = { status: 204, isShared: true };
  assert.equal(mergeEndpointResponses([shared, shared])?.isShared, true);
  assert.equal(mergeEndpointResponses([shared, { status: 404 }])?.isShared, false);
});

for (const [what, response, message] of [
  ["an invalid status", { status: 999 }, /has the status 999, not one of 200 to 599/],
  ["a body that cannot be written as JSON", { status: 200, body: 1n }, /cannot be written as JSON: .*BigInt/],
  ["a body of more than 8 MiB", { status: 200, body: "x".repeat(8 * 1024 * 1024) }, /has more than 8388608 bytes/],
] as const)
  test(`a response with ${what} is replaced by an error`, () => {
    const { status, body } = checkedEndpointResponse(response) ?? {};
    assert.equal(status, 500);
    assert.match((body as { message: string }).message, message);
  });

test("a valid response is returned unchanged, and so is null", () => {
  const response = { status: 200, body: { a: 1 } };
  assert.equal(checkedEndpointResponse(response), response);
  assert.equal(checkedEndpointResponse(null), null);
});
