import assert from "node:assert/strict";
import { test } from "node:test";
import { type LiveRequest, MAX_LISTED, noLiveRequests, withNewRequests } from "./live-request-list.ts";

/** Requests with these numbers as ids, oldest first. */
const numbered = (from: number, count: number): readonly LiveRequest[] =>
  Array.from({ length: count }, (_, at) => ({
    node: "n",
    time: "2030-01-01T00:00:00.000Z",
    request_id: String(from + at),
    status: 200,
    latencies: { request: 1 },
  }));

test("the list keeps the newest requests, and counts those that the nodes missed", () => {
  const first = withNewRequests(noLiveRequests, { data: numbered(0, MAX_LISTED), missed: 3 });
  const { requests, missed } = withNewRequests(first, { data: numbered(MAX_LISTED, 5), missed: 4 });
  assert.equal(requests.length, MAX_LISTED);
  assert.deepEqual([requests[0]?.request_id, requests.at(-1)?.request_id], [String(MAX_LISTED + 4), "5"]);
  assert.equal(missed, 7);
});
