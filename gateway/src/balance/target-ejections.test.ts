import assert from "node:assert/strict";
import { test } from "node:test";
import type { Balancer } from "./balancer.ts";
import { TargetEjections } from "./target-ejections.ts";
import { balancerOf } from "./testing.ts";
import { FakeClock } from "./testing-clock.ts";

const passive = { unhealthy: { http_failures: 1 } };
const detection = { base_ejection_time: 30, max_ejection_time: 70 };

/** A balancer with two targets, whose ejections are timed. `members` are those of the upstream. */
function start(members: object) {
  const clock = new FakeClock();
  const balancers = new Map<string, Balancer>();
  const ejections = new TargetEjections({ balancers: () => balancers, clock });
  const use = (upstream: object, previous: Balancer | null = null) => {
    const balancer = balancerOf({
      upstream,
      targets: { "a:1": 1, "b:1": 1 },
      previous,
      now: () => clock.now(),
      onHealthUpdate: (update) => ejections.record(update),
    });
    balancers.set(balancer.upstream.id, balancer);
    ejections.follow();
    return balancer;
  };
  const balancer = use(members);
  const [entry] = balancer.entries;
  assert.ok(entry);
  const { member } = entry;
  return {
    clock,
    balancer,
    use,
    member,
    isHealthy: () => member.health.healthy,
    eject: (from = balancer) => from.applySignal(member, "http_failures", from.passive),
  };
}

test("a target is ejected for a time that grows with each ejection, up to a maximum, and shrinks in quiet times", async () => {
  const { clock, eject, isHealthy } = start({ healthchecks: { passive }, outlier_detection: detection });
  const ejectedFor = async () => {
    eject();
    let seconds = 0;
    for (; !isHealthy(); seconds += 10) await clock.pass(10_000);
    return seconds;
  };
  assert.deepEqual([await ejectedFor(), await ejectedFor(), await ejectedFor()], [30, 60, 70]);
  await clock.pass(60_000);
  assert.deepEqual([await ejectedFor(), await ejectedFor()], [60, 70]);
});

const active = { healthy: { successes: 1 }, unhealthy: { interval: 5 } };
/** Cases in which time does not end the ejection. */
const lasting: readonly (readonly [name: string, members: object, isManual: boolean])[] = [
  ["without outlier_detection", { healthchecks: { passive } }, false],
  ["that was set by hand", { healthchecks: { passive }, outlier_detection: detection }, true],
  ["that active checks end", { healthchecks: { passive, active }, outlier_detection: detection }, false],
];
for (const [name, members, isManual] of lasting)
  test(`time does not end an unhealthy state ${name}`, async () => {
    const { clock, balancer, member, eject, isHealthy } = start(members);
    if (isManual) balancer.setHealth(member.id, null, false);
    else eject();
    await clock.pass(1_000_000);
    assert.deepEqual([isHealthy(), clock.waiting], [false, 0]);
  });

test("outlier_detection applies to targets that are unhealthy already, and its removal keeps them unhealthy", async () => {
  const { clock, balancer, use, eject, isHealthy } = start({ healthchecks: { passive } });
  eject();
  const next = use({ healthchecks: { passive }, outlier_detection: detection }, balancer);
  assert.equal(clock.waiting, 1);
  await clock.pass(30_000);
  assert.equal(isHealthy(), true);
  eject(next);
  use({ healthchecks: { passive } }, next);
  await clock.pass(1_000_000);
  assert.equal(isHealthy(), false);
});

test("time does not end the unhealthy state of an ejected target that was then set unhealthy by hand", async () => {
  const { clock, balancer, use, member, eject, isHealthy } = start({
    healthchecks: { passive },
    outlier_detection: detection,
  });
  eject();
  balancer.setHealth(member.id, null, false);
  use({ healthchecks: { passive }, outlier_detection: detection }, balancer);
  await clock.pass(1_000_000);
  assert.deepEqual([isHealthy(), clock.waiting], [false, 0]);
});

test("an ejection that ended because passive checks were disabled does not prevent the end of the next one", async () => {
  const { clock, balancer, use, eject, isHealthy } = start({ healthchecks: { passive }, outlier_detection: detection });
  eject();
  const off = use({ outlier_detection: detection }, balancer);
  assert.deepEqual([isHealthy(), clock.waiting], [true, 0]);
  eject(use({ healthchecks: { passive }, outlier_detection: detection }, off));
  await clock.pass(60_000);
  assert.equal(isHealthy(), true);
});

/** `max_ejection_percent`, and how many of four targets passive checks can make unhealthy. */
for (const [percent, expected] of [
  [0, 0],
  [24, 0],
  [25, 1],
  [50, 2],
  [100, 4],
] as const)
  test(`of four targets, ${expected} become unhealthy if max_ejection_percent is ${percent}`, () => {
    const balancer = balancerOf({
      upstream: { healthchecks: { passive }, outlier_detection: { max_ejection_percent: percent } },
      targets: { "a:1": 1, "b:1": 1, "c:1": 1, "d:1": 1, "e:1": 0 },
    });
    for (const { member, weight } of balancer.entries)
      if (weight > 0) balancer.applySignal(member, "http_failures", balancer.passive);
    assert.equal(balancer.entries.filter(({ member }) => !member.health.healthy).length, expected);
    // Active checks are not limited.
    for (const { member } of balancer.entries) balancer.setHealth(member.id, null, true);
    const { thresholds } = balancer.passive;
    const rules = { thresholds, signalFor: () => null };
    for (const { member } of balancer.entries) balancer.applySignal(member, "http_failures", rules);
    assert.equal(balancer.isUp, false);
  });
