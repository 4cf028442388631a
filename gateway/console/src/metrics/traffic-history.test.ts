import assert from "node:assert/strict";
import { test } from "node:test";
import { percentileOf, TrafficHistory } from "./traffic-history.ts";
import { readSnapshot } from "./traffic-snapshot.ts";

const snapshot = (lines: readonly string[], at: number) =>
  readSnapshot(new Response(`${lines.join("\n")}\n`).body ?? assert.fail(), at);

const requests = (count: number, { code = "200", route = "r", source = "service" } = {}) =>
  `sluice_http_requests_total{service="s",route="${route}",code="${code}",source="${source}",workspace="default",consumer="ann"} ${count}`;
const bucket = (bound: string, count: number) =>
  `sluice_request_latency_ms_bucket{service="s",route="r",workspace="default",le="${bound}"} ${count}`;

test("rates are the increase of the counters between the first and the last snapshot", async () => {
  const history = new TrafficHistory();
  history.add(await snapshot([requests(10), requests(0, { code: "500" })], 0));
  history.add(await snapshot([requests(30), requests(5, { code: "500" })], 10_000));
  const [row] = history.rows("route");
  assert.deepEqual([row?.name, row?.requests, row?.rate, row?.serverErrorRate], ["r", 35, 2.5, 0.5]);
  assert.deepEqual(
    history.rows("consumer").map(({ name, rate }) => [name, rate]),
    [["ann", 2.5]],
  );
  assert.deepEqual(
    history.points.map(({ at, rate }) => [at, rate]),
    [[10_000, 2.5]],
  );
});

test("a counter that has become smaller counts from 0, because its node has started again", async () => {
  const history = new TrafficHistory();
  history.add(await snapshot([requests(1000)], 0));
  history.add(await snapshot([requests(20)], 10_000));
  assert.equal(history.ratesOf("route", "r")?.rate, 2);
});

test("requests that the gateway refused are counted apart from errors of the upstream", async () => {
  const history = new TrafficHistory();
  history.add(await snapshot([], 0));
  const lines = [requests(10, { code: "429", source: "gateway" }), requests(20, { code: "404" })];
  history.add(await snapshot(lines, 10_000));
  const { clientErrorRate, refusedRate } = history.ratesOf("service", "s") ?? assert.fail();
  assert.deepEqual([clientErrorRate, refusedRate], [3, 1]);
});

test("percentiles are interpolated within the buckets of the interval", async () => {
  const history = new TrafficHistory();
  const buckets = (a: number, b: number) => [bucket("25", a), bucket("50", b), bucket("+Inf", b)];
  history.add(await snapshot([requests(1), ...buckets(100, 100)], 0));
  history.add(await snapshot([requests(1), ...buckets(110, 120)], 5000));
  const { p50, p95 } = history.ratesOf("route", "r") ?? assert.fail();
  assert.deepEqual([p50, p95], [25, 47.5]);
});

const percentiles: readonly (readonly [
  what: string,
  cumulative: readonly number[],
  share: number,
  value: number | null,
])[] = [
  ["without values", [0, 0, 0], 0.5, null],
  ["in the first bucket", [10, 10, 10], 0.5, 5],
  ["in the bucket without an upper bound", [0, 0, 4], 0.5, 20],
];
for (const [what, cumulative, share, value] of percentiles)
  test(`a percentile ${what} is ${value}`, () =>
    assert.equal(percentileOf([10, 20, Number.POSITIVE_INFINITY], cumulative, share), value));

test("names of Kong (SLUICE_COMPAT=kong) and escaped label values are read too", async () => {
  const { by, hasRequests } = await snapshot([requests(1, { route: '\\"a\\\\\\n' }).replace("sluice_", "kong_")], 0);
  assert.deepEqual([[...by.route.keys()], hasRequests], [['"a\\\n'], true]);
});
