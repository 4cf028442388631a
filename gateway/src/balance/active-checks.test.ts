import assert from "node:assert/strict";
import { test } from "node:test";
import { ActiveHealthChecks, type HealthProbe, type ProbeResult } from "./active-checks.ts";
import type { Balancer } from "./balancer.ts";
import { balancerOf } from "./testing.ts";
import { FakeClock } from "./testing-clock.ts";

interface Check {
  readonly host: string;
  readonly answer: (result: ProbeResult) => Promise<unknown>;
}

/** Returns a probe whose checks end when the test calls their `answer`, and lists of these checks and their signals. */
function handChecks() {
  const open: Check[] = [];
  const signals: AbortSignal[] = [];
  const probe: HealthProbe = ({ host }, signal) => {
    const { promise, resolve } = Promise.withResolvers<ProbeResult>();
    signals.push(signal);
    const answer = (result: ProbeResult) => {
      resolve(result);
      return new Promise(setImmediate);
    };
    open.push({ host, answer });
    return promise;
  };
  return { probe, open, signals };
}

const active = (healthy: object, unhealthy: object, more: object = {}) => ({
  healthchecks: { active: { healthy, unhealthy, ...more } },
});
const every = { upstream: active({ interval: 1, successes: 1 }, { interval: 1, tcp_failures: 1 }) };
const fitOf = (balancer: Balancer) => balancer.entries.map(({ member }) => member.health.healthy);
const byId = (...balancers: readonly Balancer[]) => new Map(balancers.map((one) => [one.upstream.id, one]));

test("healthy and unhealthy targets have separate check intervals, and the results change their state", async () => {
  const clock = new FakeClock();
  const results: Record<string, ProbeResult> = { a: 200, b: "failed" };
  const checked: string[] = [];
  const probe: HealthProbe = async ({ host }) => {
    checked.push(host);
    return results[host] ?? "failed";
  };
  const watch = new ActiveHealthChecks({ probe, clock });
  const upstream = active({ interval: 10, successes: 1 }, { interval: 1, tcp_failures: 2 });
  const balancer = balancerOf({ upstream, targets: { "a:1": 1, "b:1": 1, "out:1": 0 } });
  watch.checkBalancers(byId(balancer));
  await clock.pass(10_000);
  assert.deepEqual([checked.join(""), fitOf(balancer)], ["ab", [true, true, true]]);
  await clock.pass(10_000);
  assert.deepEqual([checked.join(""), fitOf(balancer)], ["ababb", [true, false, true]]);
  results.b = 302;
  await clock.pass(1000);
  assert.deepEqual([checked.join(""), fitOf(balancer)], ["ababbb", [true, true, true]]);
  watch.close();
  assert.equal(clock.waiting, 0);
});

const outcomes: readonly (readonly [ProbeResult, unhealthy: object, turns: boolean])[] = [
  ["failed", { tcp_failures: 1 }, true],
  ["timeout", { timeouts: 1 }, true],
  [500, { http_failures: 1 }, true],
  [418, { http_failures: 1, tcp_failures: 1, timeouts: 1 }, false],
  [500, { tcp_failures: 1, timeouts: 1 }, false],
];
for (const [result, unhealthy, turns] of outcomes) {
  test(`the check result ${JSON.stringify(result)} ${turns ? "makes" : "does not make"} a target unhealthy with ${JSON.stringify(unhealthy)}`, async () => {
    const clock = new FakeClock();
    const balancer = balancerOf({ upstream: active({ interval: 1 }, unhealthy), targets: { "a:1": 1 } });
    const watch = new ActiveHealthChecks({ probe: async () => result, clock });
    watch.checkBalancers(byId(balancer));
    await clock.pass(1000);
    assert.deepEqual(fitOf(balancer), [!turns]);
    watch.close();
  });
}

test("the number of simultaneous checks does not exceed the concurrency, and rounds do not overlap", async () => {
  const clock = new FakeClock();
  const { probe, open } = handChecks();
  const upstream = active({ interval: 1 }, {}, { concurrency: 2 });
  const watch = new ActiveHealthChecks({ probe, clock });
  watch.checkBalancers(byId(balancerOf({ upstream, targets: { "a:1": 1, "b:1": 1, "c:1": 1 } })));
  await clock.pass(5000);
  assert.deepEqual(open.map(({ host }) => host).join(""), "ab");
  await open[0]?.answer(200);
  assert.deepEqual(open.map(({ host }) => host).join(""), "abc");
  await open[1]?.answer(200);
  await open[2]?.answer(200);
  await clock.pass(1000);
  assert.deepEqual(open.map(({ host }) => host).join(""), "abcab");
  watch.close();
});

test("a target whose state changes during a check is not checked a second time during that check", async () => {
  const clock = new FakeClock();
  const { probe, open } = handChecks();
  const balancer = balancerOf({ ...every, targets: { "a:1": 1 } });
  const watch = new ActiveHealthChecks({ probe, clock });
  watch.checkBalancers(byId(balancer));
  await clock.pass(1000);
  balancer.setHealth(balancer.entries[0]?.member.id ?? "", null, false);
  await clock.pass(3000);
  assert.equal(open.length, 1);
  watch.close();
});

test("an unchanged interval continues after a configuration change, new targets are checked, and removed upstreams are not", async () => {
  const clock = new FakeClock();
  const checked: string[] = [];
  const probe: HealthProbe = async ({ host }) => {
    checked.push(host);
    return 200;
  };
  const watch = new ActiveHealthChecks({ probe, clock });
  for (const names of ["a", "b", "bc"]) {
    const targets = Object.fromEntries([...names].map((name) => [`${name}:1`, 1]));
    watch.checkBalancers(byId(balancerOf({ ...every, targets })));
    await clock.pass(400);
  }
  assert.deepEqual(checked.join(""), "bc");
  watch.checkBalancers(new Map());
  assert.equal(clock.waiting, 0);
  await clock.pass(5000);
  assert.deepEqual(checked.join(""), "bc");
});

for (const [members, hostHeader, serverName] of [
  [{}, "pool", "pool"],
  [{ host_header: "up.example:8443" }, "up.example:8443", "up.example"],
] as const) {
  test(`a check of an endpoint names the server as requests do: ${hostHeader}`, async () => {
    const clock = new FakeClock();
    const named: unknown[] = [];
    const probe: HealthProbe = async ({ host, port, ...request }) => {
      named.push([host, port, request.hostHeader, request.serverName]);
      return 200;
    };
    const endpoints = [{ address: "10.0.0.1", port: 81, weight: 1 }];
    const upstream: { readonly host_header?: string } = { ...every.upstream, ...members };
    new ActiveHealthChecks({ probe, clock }).checkBalancers(
      byId(balancerOf({ upstream, targets: { "a:1": 1 }, endpoints })),
    );
    await clock.pass(1000);
    assert.deepEqual(named, [
      ["10.0.0.1", 81, hostHeader, serverName],
      ["a", 1, upstream.host_header ?? null, null],
    ]);
  });
}

test("closing aborts the running checks, and their results are ignored", async () => {
  const clock = new FakeClock();
  const { probe, open, signals } = handChecks();
  const balancer = balancerOf({ ...every, targets: { "a:1": 1 } });
  const watch = new ActiveHealthChecks({ probe, clock });
  watch.checkBalancers(byId(balancer));
  await clock.pass(1000);
  watch.close();
  assert.deepEqual([clock.waiting, signals.map(({ aborted }) => aborted)], [0, [true]]);
  await open[0]?.answer("failed");
  assert.deepEqual(fitOf(balancer), [true]);
});
