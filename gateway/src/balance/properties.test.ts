import assert from "node:assert/strict";
import { test } from "node:test";
import { ENDPOINT_WEIGHT_UNIT } from "@sluice/model";
import type { BalancedAttempts } from "./target-attempts.ts";
import { attemptsOf, balancerOf, balancingRequest } from "./testing.ts";

/** Pseudo-random integers that are at least 0 and less than the limit, the same in every run. */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

test("if there are as many requests as the sum of all weights, round-robin sends each target as many requests as its weight", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const below = numbers(seed);
    const weights = Array.from({ length: 1 + below(8) }, () => below(20));
    const targets = Object.fromEntries(weights.map((weight, at) => [`t${at}:1`, weight]));
    const balancer = balancerOf({ targets });
    for (let round = 0; round < 3; round++) {
      const got = new Map<string, number>();
      for (let turn = weights.reduce((sum, weight) => sum + weight, 0); turn > 0; turn--) {
        const place = attemptsOf(balancer).next() ?? "none";
        got.set(place, (got.get(place) ?? 0) + 1);
      }
      const wanted = Object.entries(targets).filter(([, weight]) => weight > 0);
      assert.deepEqual([...got].toSorted(), wanted.toSorted(), JSON.stringify(weights));
    }
  }
});

const COUNT = 10_000;
for (const algorithm of ["round-robin", "consistent-hashing"]) {
  test(`${algorithm} gives a core Service its part of the requests, whatever the number of its endpoints`, () => {
    for (const [stable, canary] of [
      [1, 1],
      [3, 1],
      [1, 7],
    ] as const) {
      const endpoints = [
        ...Array.from({ length: stable }, (_, at) => ({ address: `10.1.0.${at}`, weight: 90 / stable })),
        ...Array.from({ length: canary }, (_, at) => ({ address: `10.2.0.${at}`, weight: 10 / canary })),
      ].map(({ address, weight }) => ({ address, port: 80, weight: Math.round(weight / ENDPOINT_WEIGHT_UNIT) }));
      const upstream = { algorithm, hash_on: "path" };
      const balancer = balancerOf({ upstream, targets: { "target:1": 100 }, endpoints });
      const got = { target: 0, "10.1": 0, "10.2": 0 };
      for (let at = 0; at < COUNT; at++) {
        const place = attemptsOf(balancer, balancingRequest({ path: `/${at}` })).next() ?? "";
        got[place.split(/[:.]/, place.startsWith("10.") ? 2 : 1).join(".") as keyof typeof got]++;
      }
      // A hash spreads evenly only over many values.
      const tolerance = algorithm === "round-robin" ? 1 : COUNT / 50;
      for (const [place, part] of [["target", 0.5] as const, ["10.1", 0.45] as const, ["10.2", 0.05] as const])
        assert.ok(Math.abs(got[place] - part * COUNT) <= tolerance, JSON.stringify({ stable, canary, got }));
    }
  });
}

const algorithms = ["round-robin", "least-connections", "latency", "consistent-hashing"];
for (const algorithm of algorithms) {
  test(`${algorithm} chooses only healthy targets with a weight above 0, and counts every request in flight`, () => {
    for (let seed = 1; seed <= 40; seed++) {
      const below = numbers(seed);
      const targets = Object.fromEntries(Array.from({ length: 1 + below(6) }, (_, at) => [`t${at}:1`, below(4)]));
      const healthchecks = {
        passive: { healthy: { successes: 2 }, unhealthy: { tcp_failures: 2, timeouts: 1, http_failures: 3 } },
      };
      let time = 0;
      const upstream = { algorithm, hash_on: "path", healthchecks };
      const balancer = balancerOf({ upstream, targets, now: () => time });
      const open: BalancedAttempts<string>[] = [];
      const held = new Map<BalancedAttempts<string>, string>();
      for (let step = 0; step < 200; step++) {
        time += below(50);
        const known = open[below(open.length + 1)];
        const attempts = known ?? attemptsOf(balancer, balancingRequest({ path: `/${below(100)}` }));
        if (known === undefined) open.push(attempts);
        const move = below(5);
        if (move < 2) {
          const fit = balancer.entries
            .filter((_, index) => balancer.isEligible(index))
            .map(({ member }) => member.address);
          const place = attempts.next();
          assert.equal(place === null, fit.length === 0);
          assert.ok(place === null || fit.includes(place), `${place} of ${fit}`);
          if (place === null) held.delete(attempts);
          else held.set(attempts, place);
        } else if (move === 2) attempts.failed("tcp_failures");
        else if (move === 3) attempts.recordResponse([200, 404, 500][below(3)] ?? 200);
        else {
          attempts.endTry();
          held.delete(attempts);
        }
        for (const { member } of balancer.entries) {
          const count = [...held.values()].filter((place) => place === member.address).length;
          assert.equal(member.inFlight, count, `step ${step} of run ${seed}`);
        }
      }
    }
  });
}
