import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { percentileOf } from "./latency-histogram.ts";
import { mergeTraffic } from "./merge-traffic.ts";
import type { RejectedRequest } from "./observer.ts";
import { TrafficLog } from "./traffic-log.ts";

interface ExchangeFacts {
  readonly route: string;
  readonly consumer?: string;
  readonly status?: number;
  readonly source?: "service" | "gateway";
  /** Milliseconds until the response began. */
  readonly latency?: number;
}

/** The parts of an exchange that the log reads. */
function exchangeOf(ended: number, facts: ExchangeFacts): LiveExchange {
  const { route, consumer, status = 200, source = "service", latency = 1 } = facts;
  return {
    route: { id: route, name: `${route}!` },
    service: { id: "s", name: "service" },
    consumer: consumer === undefined ? null : { id: consumer, username: consumer },
    credential: consumer === undefined ? null : { id: `key of ${consumer}` },
    timings: { started: ended - latency, answered: ended, ended },
    status,
    source,
  } as unknown as LiveExchange;
}

const unrouted: RejectedRequest = {
  id: "r",
  name: "noRoute",
  status: 404,
  request: null,
  peerAddress: "10.0.0.1",
  duration: 3,
};

/** Just after the log was made. */
const start = () => performance.now() + 1;

test("the last uses of routes, consumers and credentials are known to the minute", (context) => {
  const minute = 1_000_000 * 60_000;
  context.mock.timers.enable({ apis: ["Date"], now: minute + 50_000 });
  const uses = new TrafficLog();
  const now = performance.now();
  uses.finished(exchangeOf(now, { route: "a", consumer: "ann" }));
  context.mock.timers.setTime(minute + 59_000);
  uses.finished(exchangeOf(now + 9000, { route: "b" }));
  context.mock.timers.setTime(minute + 61_000);
  uses.finished(exchangeOf(now + 11_000, { route: "a" }));
  const [first, second] = [minute / 1000, minute / 1000 + 60];
  assert.deepEqual(uses.lastUses("routes"), { since: minute / 1000 + 50, last_uses: { b: first, a: second } });
  assert.deepEqual(uses.lastUses("consumers").last_uses, { ann: first });
  assert.deepEqual(uses.lastUses("credentials").last_uses, { "key of ann": first });
});

test("intervals end at multiples of ten seconds, so all uses in an interval are in the same minute", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 60_000_000 + 53_000 });
  const now = performance.now();
  const uses = new TrafficLog();
  uses.finished(exchangeOf(now, { route: "a" }));
  context.mock.timers.setTime(60_000_000 + 60_000);
  uses.finished(exchangeOf(now + 7100, { route: "a" }));
  assert.deepEqual(uses.lastUses("routes").last_uses, { a: 60_060 });
});

test("requests that matched no route are part of the total, as refused", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 0 });
  const log = new TrafficLog();
  const now = start();
  log.finished(exchangeOf(now, { route: "a" }));
  log.rejected(unrouted);
  log.rejected(unrouted);
  const { total, routes } = log.traffic(now + 10_000);
  const { requests, client_errors, refused } = total;
  assert.deepEqual([requests, client_errors, refused, routes.length], [3, 2, 2, 1]);
});

test("of more than 100,000 entities, those whose last use is the oldest are forgotten", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 60_000 });
  const uses = new TrafficLog();
  const now = performance.now();
  for (let at = 0; at < 100_000; at++) uses.finished(exchangeOf(now, { route: `route ${at}` }));
  context.mock.timers.setTime(120_000);
  uses.finished(exchangeOf(now + 60_001, { route: "route 0" }));
  uses.finished(exchangeOf(now + 60_002, { route: "one more" }));
  const { last_uses } = uses.lastUses("routes");
  assert.equal(Object.keys(last_uses).length, 100_000);
  assert.deepEqual([last_uses["route 0"], last_uses["route 1"], last_uses["one more"]], [120, undefined, 120]);
});

test("the last complete interval of ten seconds is reported, by route and consumer", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 0 });
  const log = new TrafficLog();
  const now = start();
  log.finished(exchangeOf(now, { route: "a", consumer: "ann" }));
  log.finished(exchangeOf(now, { route: "a", consumer: "ann", status: 429, source: "gateway" }));
  log.finished(exchangeOf(now, { route: "a", status: 500 }));
  log.finished(exchangeOf(now, { route: "b", status: 404 }));
  assert.equal(log.traffic(now).total.requests, 0, "the interval is not complete");
  const { seconds, total, routes, consumers } = log.traffic(now + 10_000);
  const service = { id: "s", name: "service" };
  const counts = ({ latencies: _, ...members }: (typeof routes)[number]) => members;
  assert.equal(seconds, 10);
  assert.deepEqual(counts(total), {
    entity: null,
    service: null,
    requests: 4,
    client_errors: 2,
    server_errors: 1,
    refused: 1,
  });
  assert.deepEqual(routes.map(counts), [
    { entity: { id: "a", name: "a!" }, service, requests: 3, client_errors: 1, server_errors: 1, refused: 1 },
    { entity: { id: "b", name: "b!" }, service, requests: 1, client_errors: 1, server_errors: 0, refused: 0 },
  ]);
  assert.deepEqual(consumers.map(counts), [
    { entity: { id: "ann", name: "ann" }, service: null, requests: 2, client_errors: 1, server_errors: 0, refused: 1 },
  ]);
  assert.equal(log.traffic(now + 20_000).total.requests, 0, "a later interval had no requests");
});

test("requests after a pause are not reported with those before it", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 0 });
  const log = new TrafficLog();
  const now = start();
  log.finished(exchangeOf(now, { route: "a" }));
  log.finished(exchangeOf(now + 35_000, { route: "b" }));
  assert.deepEqual(log.traffic(now + 36_000).routes, []);
  const [only, ...others] = log.traffic(now + 45_000).routes;
  assert.deepEqual([only?.entity?.id, others], ["b", []]);
});

test("at most 1,000 routes are counted separately in an interval; the total counts all", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 0 });
  const log = new TrafficLog();
  const now = start();
  for (let at = 0; at < 1500; at++) log.finished(exchangeOf(now, { route: `route ${at}` }));
  const { total, routes } = log.traffic(now + 10_000);
  assert.deepEqual([total.requests, routes.length], [1500, 1000]);
  assert.equal(Object.keys(log.lastUses("routes").last_uses).length, 1500);
});

test("operations are counted by service, type and name, with their failures and the time until the end of the response", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 0 });
  const now = start();
  const exchange = exchangeOf(now, { route: "a", latency: 40 });
  const workers = [new TrafficLog(), new TrafficLog()].map((log) => {
    log.record({ exchange, type: "query", name: "Users", failed: false });
    log.record({ exchange, type: "query", name: "Users", failed: true });
    log.record({ exchange, type: "mutation", name: "Users", failed: false });
    return log.traffic(now + 10_100);
  });
  // A node with an earlier version reports no operations.
  const { operations: _, ...earlier } = new TrafficLog().traffic();
  const { operations = [], total } = mergeTraffic([...workers, earlier]);
  assert.deepEqual(
    operations.map(({ entity, service, type, requests, failed }) => [entity, service?.name, type, requests, failed]),
    [
      [{ id: "s query Users", name: "Users" }, "service", "query", 4, 2],
      [{ id: "s mutation Users", name: "Users" }, "service", "mutation", 2, 0],
    ],
  );
  const p50 = percentileOf(operations[0]?.latencies ?? [], 0.5) ?? 0;
  assert.ok(p50 >= 40 && p50 <= 50, `${p50}`);
  assert.equal(total.requests, 0, "the requests themselves are counted when they end");
});

test("operations with one name and different documents are counted separately, and one that ends before its exchange with its own duration", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 0 });
  const now = start();
  const exchange = exchangeOf(now, { route: "a", latency: 40 });
  const logs = [new TrafficLog(), new TrafficLog()].map((log) => {
    const operation = { exchange, type: "query", name: "Users", failed: false };
    log.record({ ...operation, hash: "0a", duration: 900 });
    log.record({ ...operation, hash: "0b" });
    return log.traffic(now + 10_100);
  });
  const { operations = [] } = mergeTraffic(logs);
  assert.deepEqual(
    operations.map(({ entity, hash, requests }) => [entity?.id, hash, requests]),
    [
      ["s query Users 0a", "0a", 2],
      ["s query Users 0b", "0b", 2],
    ],
  );
  const longest = operations.map(({ latencies }) => percentileOf(latencies, 0.99) ?? 0);
  assert.ok((longest[0] ?? 0) >= 900 && (longest[1] ?? 900) < 60, `${longest}`);
});

test("at most 1,000 operations are counted separately in an interval", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 0 });
  const log = new TrafficLog();
  const now = start();
  for (let at = 0; at < 1500; at++)
    log.record({ exchange: exchangeOf(now, { route: "a" }), type: "query", name: `Q${at}`, failed: false });
  assert.equal(log.traffic(now + 10_000).operations?.length, 1000);
});

test("counts of workers and nodes are added, and percentiles are computed from all latencies", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 0 });
  const now = start();
  const parts = [2, 200].map((latency) => {
    const log = new TrafficLog();
    for (let count = 0; count < 50; count++) log.finished(exchangeOf(now, { route: "a", latency }));
    return log.traffic(now + 10_100);
  });
  const { total, routes } = mergeTraffic(parts);
  assert.deepEqual([total.requests, routes.length, routes[0]?.requests], [100, 1, 100]);
  const [p50 = 0, p99 = 0] = [0.5, 0.99].map((share) => percentileOf(total.latencies, share) ?? undefined);
  assert.ok(p50 >= 2 && p50 <= 2.5 && p99 >= 200 && p99 <= 250, `${p50} ${p99}`);
});
