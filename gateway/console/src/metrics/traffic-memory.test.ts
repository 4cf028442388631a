import assert from "node:assert/strict";
import { test } from "node:test";
import { TrafficMemory, type TrafficReport } from "./traffic-memory.ts";

const rates = (requests: number) => ({
  requests,
  client_errors: 0,
  server_errors: 0,
  refused: 0,
  latencies: { p50: null, p95: null, p99: null },
});
const report = (requests: number, ...ids: readonly string[]): TrafficReport => ({
  total: rates(requests),
  data: ids.map((id) => ({ id, name: id, ...rates(requests) })),
  unanswered: [],
});

test("the memory has one point for reports of the same time, and the last entries of each subject", () => {
  const memory = new TrafficMemory();
  memory.add(
    new Map([
      ["routes", report(1, "a", "b")],
      ["services", report(1, "s")],
    ]),
    0,
  );
  memory.add(new Map([["routes", report(2, "a")]]), 5000);
  assert.deepEqual(
    memory.points.map(({ at, requests }) => [at, requests]),
    [
      [0, 1],
      [5000, 2],
    ],
  );
  assert.deepEqual(
    memory.entries("routes").map(({ id }) => id),
    ["a"],
  );
  assert.equal(memory.ratesOf("services", "s")?.requests, 1);
  assert.equal(memory.ratesOf("routes", "b"), undefined);
});

test("the memory keeps ten minutes", () => {
  const memory = new TrafficMemory();
  for (let at = 0; at < 1000; at++) memory.add(new Map([["routes", report(at)]]), at);
  assert.equal(memory.points.length, 120);
  assert.equal(memory.points.at(-1)?.at, 999);
});

test("the memory names the nodes that did not answer", () => {
  const memory = new TrafficMemory();
  const unanswered = [{ node: "n2", reason: "it sends no heartbeats" }];
  memory.add(new Map([["routes", { ...report(1), unanswered }]]), 0);
  assert.equal(memory.nodesText, "all nodes except n2 (it sends no heartbeats)");
  memory.add(new Map([["routes", report(1)]]), 5000);
  assert.equal(memory.nodesText, "all nodes");
});
