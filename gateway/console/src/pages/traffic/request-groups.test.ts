import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecentRequest } from "@sluice/model";
import { answeredBy, groupRequests, recentFailures } from "./request-groups.ts";

const shop = { id: "1", name: "shop" };
const down: RecentRequest = {
  time: "2026-01-01T00:10:00.000Z",
  request_id: "1",
  trace_id: null,
  kind: "refused",
  reason: "the upstream failed: connect ECONNREFUSED 127.0.0.1:1",
  status: 502,
  client_address: "127.0.0.1",
  method: "GET",
  host: "shop.example",
  path: "/",
  route: shop,
  service: shop,
  consumer: null,
  plugin: null,
  target: "127.0.0.1:1",
  tries: 1,
  latencies: { request: 1, gateway: 1, upstream: null },
};
const byPlugin: RecentRequest = { ...down, status: 401, reason: "no key", plugin: { id: "2", name: "key-auth" } };

test("requests are grouped if they have the same route, status and reason", () => {
  const groups = groupRequests([down, byPlugin, { ...down, path: "/other" }, { ...down, route: null }]);
  assert.deepEqual(
    groups.map(({ newest, count }) => [newest.status, newest.route?.name, newest.path, count]),
    [
      [502, "shop", "/", 2],
      [401, "shop", "/", 1],
      [502, undefined, "/", 1],
    ],
  );
});

const sides: readonly (readonly [request: Partial<RecentRequest>, by: string])[] = [
  [{}, "gateway"],
  [byPlugin, "plugin key-auth"],
  [{ kind: "failed", status: 500 }, "upstream"],
  [{ kind: "slow", status: 200, latencies: { request: 9, gateway: 1, upstream: 8 } }, "upstream"],
  [{ kind: "slow", status: 200 }, "gateway"],
];
for (const [request, by] of sides)
  test(`a request of kind ${request.kind ?? "refused"} with status ${request.status ?? 502} was answered by the ${by}`, () => {
    assert.equal(answeredBy({ ...down, ...request }), by);
  });

const failures: readonly (readonly [of: string, requests: readonly RecentRequest[], sentence: string | undefined])[] = [
  [
    "refusals by the gateway",
    [down, down],
    `2 recent requests of this route failed, the last with status 502: ${down.reason}`,
  ],
  [
    "an error of the service",
    [{ ...down, kind: "failed" }],
    `1 recent request of this route failed with status 502: ${down.reason}`,
  ],
  ["refusals by plugins", [byPlugin], undefined],
  ["slow requests", [{ ...down, kind: "slow" }], undefined],
  ["failures of an hour ago", [{ ...down, time: "2025-12-31T23:00:00.000Z" }], undefined],
];
for (const [of, requests, sentence] of failures)
  test(`the verdict ${sentence === undefined ? "ignores" : "names"} ${of}`, () => {
    assert.equal(recentFailures(requests, Date.parse("2026-01-01T00:11:00Z")), sentence);
  });
