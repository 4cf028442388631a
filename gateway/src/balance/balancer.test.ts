import assert from "node:assert/strict";
import { test } from "node:test";
import { ENDPOINT_WEIGHT_UNIT, type UpstreamEndpoint } from "@sluice/model";
import type { Balancer, HealthTransition, HealthUpdate } from "./balancer.ts";
import { healthReportOf } from "./health-report.ts";
import { parseTargetAddress } from "./target-state.ts";
import { attemptsOf, balancerOf } from "./testing.ts";

const passive = (unhealthy: object, more: object = {}) => ({ healthchecks: { passive: { unhealthy }, ...more } });
const strict = passive({ tcp_failures: 1, timeouts: 1, http_failures: 1 });
const three = { "a:1": 100, "b:1": 100, "c:1": 100 };

const targetStateOf = (balancer: Balancer, address: string) => {
  const entry = balancer.entries.find(({ member }) => member.address === address);
  assert.ok(entry);
  return entry.member;
};
const inFlight = (balancer: Balancer) => balancer.entries.map(({ member }) => member.inFlight);

test("a retry goes to a target that was not tried, and to the target of the previous try only when there is no other", () => {
  const attempts = attemptsOf(balancerOf({ targets: three }));
  const tried = [attempts.next(), attempts.next()];
  assert.equal(attempts.hasOtherTarget, true);
  tried.push(attempts.next());
  assert.deepEqual(tried.toSorted(), ["a:1", "b:1", "c:1"]);
  assert.equal(attempts.hasOtherTarget, false);
  for (let count = 0; count < 10; count++) {
    const last = tried.at(-1);
    tried.push(attempts.next());
    assert.notEqual(tried.at(-1), last);
  }
  const lonely = attemptsOf(balancerOf({ targets: { "a:1": 1 } }));
  assert.deepEqual([lonely.next(), lonely.next()], ["a:1", "a:1"]);
});

test("a request counts as in flight at one target at a time, until it ends", () => {
  const balancer = balancerOf({ targets: { "a:1": 1, "b:1": 1 } });
  const attempts = attemptsOf(balancer);
  attempts.next();
  assert.deepEqual(inFlight(balancer), [1, 0]);
  attempts.failed("tcp_failures");
  attempts.next();
  assert.deepEqual(inFlight(balancer), [0, 1]);
  attempts.recordResponse(200);
  assert.deepEqual(inFlight(balancer), [0, 1]);
  attempts.endTry();
  attempts.endTry();
  assert.deepEqual(inFlight(balancer), [0, 0]);
});

test("a target that fails passive checks gets no more requests, and the change of its state is reported", () => {
  const turns: HealthTransition[] = [];
  const balancer = balancerOf({ upstream: strict, targets: three, onHealthTransition: (turn) => turns.push(turn) });
  const attempts = attemptsOf(balancer);
  assert.equal(attempts.next(), "a:1");
  attempts.recordResponse(500);
  attempts.endTry();
  assert.deepEqual(turns, [{ upstream: "pool", target: "a:1", healthy: false, signal: "http_failures" }]);
  const places = Array.from({ length: 6 }, () => attemptsOf(balancer).next());
  assert.deepEqual(new Set(places), new Set(["b:1", "c:1"]));
});

test("without a healthy target no target is chosen", () => {
  const balancer = balancerOf({ upstream: strict, targets: { "a:1": 1 } });
  const attempts = attemptsOf(balancer);
  attempts.next();
  attempts.failed("timeouts");
  assert.equal(attempts.next(), null);
  assert.deepEqual(inFlight(balancer), [0]);
});

test("an upstream is up while the healthy percentage of its weight exceeds the threshold", () => {
  const upstream = passive({ tcp_failures: 1 }, { threshold: 50 });
  const balancer = balancerOf({ upstream, targets: { "a:1": 100, "b:1": 100, "c:1": 200, "d:1": 0 } });
  const [a, b] = [targetStateOf(balancer, "a:1"), targetStateOf(balancer, "b:1")];
  assert.ok(balancer.setHealth(a.id, null, false));
  assert.equal(balancer.isUp, true);
  assert.ok(balancer.setHealth(b.id, "b:1", false));
  assert.equal(balancer.isUp, false);
  assert.equal(attemptsOf(balancer).next(), null);
  assert.ok(balancer.setHealth(b.id, null, true));
  assert.equal(balancer.isUp, true);
});

test("setting the health fails for an unknown target or address, and for an upstream without health checks", () => {
  const balancer = balancerOf({ upstream: strict, targets: three });
  const { id } = targetStateOf(balancer, "a:1");
  assert.equal(balancer.setHealth("nobody", null, false), false);
  assert.equal(balancer.setHealth(id, "other:1", false), false);
  const plain = balancerOf({ targets: three });
  assert.equal(plain.setHealth(id, null, false), false);
  assert.equal(attemptsOf(plain).next(), "a:1");
});

test("a target with an unchanged address keeps its health and load; a new address starts as healthy", () => {
  const old = balancerOf({ upstream: strict, targets: three });
  old.setHealth(targetStateOf(old, "a:1").id, null, false);
  attemptsOf(old).next();
  const next = balancerOf({ upstream: strict, targets: { "a:1": 7, "b:1": 100, "d:1": 100 }, previous: old });
  assert.equal(targetStateOf(next, "a:1").health.healthy, false);
  assert.equal(targetStateOf(next, "b:1").inFlight, 1);
  assert.equal(targetStateOf(next, "d:1").health.healthy, true);
});

/** Endpoints by address, each with the weight of a target that would get as many requests. */
const endpointsOf = (weights: Readonly<Record<string, number>>): readonly UpstreamEndpoint[] =>
  Object.entries(weights).map(([address, weight]) => ({ address, port: 80, weight: weight / ENDPOINT_WEIGHT_UNIT }));

test("an endpoint that stays keeps its health and load when other endpoints, targets or its weight change", () => {
  const old = balancerOf({ upstream: strict, targets: {}, endpoints: endpointsOf({ "10.0.0.1": 1, "10.0.0.2": 1 }) });
  attemptsOf(old).failed("timeouts");
  const held = attemptsOf(old);
  held.next();
  held.failed("timeouts");
  const endpoints = endpointsOf({ "10.0.0.1": 0.5, "10.0.0.3": 0.5 });
  const next = balancerOf({ upstream: strict, targets: { "t:1": 1 }, endpoints, previous: old });
  const [one, three] = [targetStateOf(next, "10.0.0.1:80"), targetStateOf(next, "10.0.0.3:80")];
  assert.deepEqual([one.health.healthy, one.inFlight, three.health.healthy, three.inFlight], [false, 1, true, 0]);
  held.endTry();
  assert.equal(one.inFlight, 0);
});

test("an endpoint with the address of a target does not share its health", () => {
  const targets = { "10.0.0.1:80": 1 };
  const balancer = balancerOf({ upstream: strict, targets, endpoints: endpointsOf({ "10.0.0.1": 1 }) });
  const [first, second] = balancer.entries;
  assert.ok(first && second && balancer.setHealth(first.member.id, null, false));
  assert.deepEqual([first.member.health.healthy, second.member.health.healthy], [false, true]);
});

test("the health report lists an endpoint by its address, with a whole number as weight", () => {
  const endpoints = endpointsOf({ "10.0.0.1": 100 / 3, "10.0.0.2": 0.1, "::1": 0 });
  const balancer = balancerOf({ targets: {}, endpoints });
  const report = healthReportOf(new Map([["u", balancer]])).u ?? {};
  const weights = Object.entries(report).map(([id, { weight }]) => [id, weight]);
  assert.deepEqual(Object.fromEntries(weights), { "10.0.0.1:80": 33, "10.0.0.2:80": 1, "[::1]:80": 0 });
});

test("the health of targets is discarded when health checks are disabled", () => {
  const old = balancerOf({ upstream: strict, targets: three });
  old.setHealth(targetStateOf(old, "a:1").id, null, false);
  const off = balancerOf({ targets: three, previous: old });
  const again = balancerOf({ upstream: strict, targets: three, previous: off });
  assert.equal(targetStateOf(again, "a:1").health.healthy, true);
});

test("the health report lists every target by upstream id and target id", () => {
  const balancer = balancerOf({ upstream: strict, targets: { "a:1": 5, "[::1]:2": 0 } });
  const [a, six] = [targetStateOf(balancer, "a:1"), targetStateOf(balancer, "[::1]:2")];
  balancer.setHealth(a.id, null, false);
  const address = (ip: string, port: number, weight: number, health: string) => ({ ip, port, weight, health });
  assert.deepEqual(healthReportOf(new Map([["u", balancer]])), {
    u: {
      [a.id]: { health: "UNHEALTHY", weight: 5, addresses: [address("a", 1, 5, "UNHEALTHY")] },
      [six.id]: { health: "HEALTHY", weight: 0, addresses: [address("::1", 2, 0, "HEALTHY")] },
    },
  });
  const off = balancerOf({ targets: { "a:1": 5 } });
  assert.equal(healthReportOf(new Map([["u", off]])).u?.[a.id]?.health, "HEALTHCHECKS_OFF");
});

const addresses: readonly (readonly [string, string, number])[] = [
  ["name.example:80", "name.example", 80],
  ["10.0.0.1:81", "10.0.0.1", 81],
  ["[2001:db8::1]:82", "2001:db8::1", 82],
  ["2001:db8::1", "2001:db8::1", 8000],
  ["name", "name", 8000],
];
for (const [target, host, port] of addresses) {
  test(`the target ${target} is ${host} on port ${port}`, () =>
    assert.deepEqual(parseTargetAddress(target), { host, port }));
}

test("only results that change the health state are reported, and a state from another thread is adopted", () => {
  const news: HealthUpdate[] = [];
  const upstream = passive({ tcp_failures: 2 });
  const balancer = balancerOf({ upstream, targets: { "a:1": 1 }, onHealthUpdate: (change) => news.push(change) });
  const other = balancerOf({
    upstream,
    targets: { "a:1": 1 },
    onHealthUpdate: () => assert.fail("an adopted state was reported"),
  });
  const attempts = attemptsOf(balancer);
  attempts.next();
  attempts.recordResponse(200);
  attempts.failed("tcp_failures");
  attempts.recordResponse(200);
  attempts.recordResponse(200);
  attempts.failed("tcp_failures");
  attempts.failed("tcp_failures");
  assert.deepEqual(
    news.map(({ state, signal: sign }) => [state.healthy ? state.tcp_failures : "unhealthy", sign]),
    [
      [1, "tcp_failures"],
      [0, "successes"],
      [1, "tcp_failures"],
      ["unhealthy", "tcp_failures"],
    ],
  );
  const { id: targetId } = targetStateOf(other, "a:1");
  for (const { state } of news) other.adoptHealth({ targetId, address: "a:1", state: structuredClone(state) });
  assert.equal(other.isUp, false);
  other.adoptHealth({ targetId, address: "a:1", state: structuredClone(news[1]?.state ?? assert.fail()) });
  const again = attemptsOf(other);
  again.next();
  again.recordResponse(200);
  assert.equal(other.isUp, true);
});
