import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Balancer } from "../balancer.ts";
import { attemptsOf, balancerOf, balancingRequest } from "../testing.ts";

/** The first letters of the targets to which `count` sequential requests are sent; `-` where no target was chosen. */
function sequence(balancer: Balancer, count: number): string {
  return Array.from({ length: count }, () => {
    const attempts = attemptsOf(balancer);
    const place = attempts.next();
    attempts.endTry();
    return place?.[0] ?? "-";
  }).join("");
}

describe("round-robin", () => {
  const rotations: readonly (readonly [weights: Readonly<Record<string, number>>, expected: string])[] = [
    [{ "a:1": 100, "b:1": 100, "c:1": 100 }, "abcabcabc"],
    [{ "a:1": 5, "b:1": 1, "c:1": 1 }, "aabacaaaabacaa"],
    [{ "a:1": 100, "b:1": 0 }, "aaa"],
    [{ "a:1": 0 }, "--"],
    [{}, "-"],
  ];
  for (const [targets, expected] of rotations) {
    it(`distributes requests smoothly by weight: ${JSON.stringify(targets)} gives ${expected}`, () => {
      assert.equal(sequence(balancerOf({ targets }), expected.length), expected);
    });
  }
});

describe("least-connections", () => {
  const upstream = { algorithm: "least-connections" };

  it("chooses the target with the fewest requests in flight in proportion to its weight, in turn among equals", () => {
    const balancer = balancerOf({ upstream, targets: { "a:1": 100, "b:1": 100 } });
    const [first, second, third] = [attemptsOf(balancer), attemptsOf(balancer), attemptsOf(balancer)];
    assert.deepEqual([first.next(), second.next()], ["a:1", "b:1"]);
    second.endTry();
    assert.equal(third.next(), "b:1");
    const heavy = balancerOf({ upstream, targets: { "a:1": 300, "b:1": 100 } });
    const held = Array.from({ length: 8 }, () => attemptsOf(heavy).next()?.[0]);
    assert.deepEqual(held.toSorted().join(""), "aaaaaabb");
  });

  it("spreads sequential requests by weight", () => {
    assert.equal(sequence(balancerOf({ upstream, targets: { "a:1": 2, "b:1": 1 } }), 6), "abaaba");
  });
});

describe("slow start", () => {
  const healthchecks = { passive: { unhealthy: { tcp_failures: 1 } } };
  /** The seconds since the target b began, and how many of 110 requests it gets beside the target a of equal weight. */
  const shares = [
    [0, 10],
    [5, 36],
    [10, 55],
  ] as const;
  for (const algorithm of ["round-robin", "least-connections"])
    for (const start of ["was added", "became healthy again"])
      it(`raises the share of a target that ${start}: ${algorithm}`, () => {
        let time = 1_000_000;
        const options = { upstream: { algorithm, healthchecks, slow_start_window: 10 }, now: () => time };
        const [a, both] = [{ "a:1": 100 }, { "a:1": 100, "b:1": 100 }];
        const isAdded = start === "was added";
        const previous = balancerOf({ ...options, targets: isAdded ? a : both });
        const id = previous.entries[1]?.member.id;
        const balancer = balancerOf({ ...options, targets: both, previous });
        if (id !== undefined) for (const healthy of [false, true]) balancer.setHealth(id, null, healthy);
        const began = time;
        for (const [seconds, share] of shares) {
          time = began + seconds * 1000;
          const count = sequence(balancer, 110).replaceAll("a", "").length;
          assert.ok(Math.abs(count - share) <= 1, `${count} of 110 requests after ${seconds} s`);
        }
      });

  it("keeps requests from a new target whose latency is unknown, or lower than that of the others: latency", () => {
    const options = { upstream: { algorithm: "latency", slow_start_window: 10 }, now: () => 1000 };
    const previous = balancerOf({ ...options, targets: { "a:1": 100 } });
    const balancer = balancerOf({ ...options, targets: { "a:1": 100, "b:1": 100 }, previous });
    const [a, b] = balancer.entries.map(({ member }) => member);
    a?.latency.add(10, 1000);
    for (const latency of [0, 1]) {
      b?.latency.add(latency, 1000);
      const held = Array.from({ length: 22 }, () => attemptsOf(balancer));
      const share = held.filter((attempts) => attempts.next() === "b:1").length;
      assert.ok(share >= 1 && share <= 2, `${share} of 22 requests in progress`);
      for (const attempts of held) attempts.endTry();
    }
  });

  for (const algorithm of ["round-robin", "least-connections", "latency"])
    it(`reads the clock for each request as often with many targets as with one: ${algorithm}`, () => {
      const readings = ["a", "abcdefgh"].map((names) => {
        let count = 0;
        const now = () => (count += 1);
        const targets = Object.fromEntries([...names].map((name) => [`${name}:1`, 1]));
        const balancer = balancerOf({ upstream: { algorithm, slow_start_window: 10 }, targets, now });
        count = 0;
        attemptsOf(balancer).next();
        return count;
      });
      assert.equal(readings[0], readings[1]);
    });

  it("does not change the shares of the targets of a new upstream", () => {
    const targets = { "a:1": 5, "b:1": 1, "c:1": 1 };
    assert.equal(sequence(balancerOf({ upstream: { slow_start_window: 10 }, targets }), 7), "aabacaa");
  });
});

describe("latency", () => {
  it("chooses the fastest target, and tries a slow target again after a while", () => {
    let time = 0;
    const targets = { "a:1": 100, "b:1": 100 };
    const balancer = balancerOf({ upstream: { algorithm: "latency" }, targets, now: () => time });
    const take = (): string | null => {
      const attempts = attemptsOf(balancer);
      const place = attempts.next();
      time += place === "a:1" ? 500 : 10;
      attempts.recordResponse(200);
      attempts.endTry();
      return place;
    };
    assert.deepEqual([take(), take(), take(), take()], ["a:1", "b:1", "b:1", "b:1"]);
    for (let count = 0; count < 4000 && take() !== "a:1"; count++);
    assert.ok(time > 15_000 && time < 60_000, `the slow target was tried again after ${time} ms`);
  });

  it("does not prefer a target that refuses connections quickly", () => {
    const balancer = balancerOf({ upstream: { algorithm: "latency" }, targets: { "a:1": 100, "b:1": 100 } });
    const first = attemptsOf(balancer);
    assert.equal(first.next(), "a:1");
    first.failed("tcp_failures");
    assert.equal(first.next(), "b:1");
    first.recordResponse(200);
    first.endTry();
    assert.equal(sequence(balancer, 3), "bbb");
  });
});

describe("consistent-hashing", () => {
  const upstream = { algorithm: "consistent-hashing", hash_on: "path" };
  const names = Array.from({ length: 10 }, (_, at) => `10.0.0.${at}:80`);
  const even = (addresses: readonly string[]) => Object.fromEntries(addresses.map((address) => [address, 100]));
  const keys = Array.from({ length: 5000 }, (_, at) => `/key/${at}`);
  const places = (balancer: Balancer) => keys.map((path) => attemptsOf(balancer, balancingRequest({ path })).next());
  const before = places(balancerOf({ upstream, targets: even(names) }));

  it("sends equal values to the same target, whatever the order of the targets is", () => {
    assert.deepEqual(places(balancerOf({ upstream, targets: even(names.toReversed()) })), before);
  });

  it("moves only the requests of a removed target", () => {
    for (const gone of names) {
      const now = places(balancerOf({ upstream, targets: even(names.filter((name) => name !== gone)) }));
      const moved = [...keys.keys()].filter((at) => now[at] !== before[at]);
      const share = [...keys.keys()].filter((at) => before[at] === gone);
      assert.deepEqual(moved, share);
      // About a tenth of the 5000 keys: hashing does not spread them exactly evenly.
      assert.ok(share.length > 400 && share.length < 600, `${gone} had ${share.length}`);
      const takers = new Set(share.map((at) => now[at]));
      assert.equal(takers.size, names.length - 1, "the share is distributed over all remaining targets");
    }
  });

  it("moves only the requests of an unhealthy target, and moves them back when the target is healthy again", () => {
    const watched = { ...upstream, healthchecks: { passive: { unhealthy: { tcp_failures: 1 } } } };
    const balancer = balancerOf({ upstream: watched, targets: even(names) });
    const [entry] = balancer.entries;
    assert.ok(entry);
    const { id, address } = entry.member;
    balancer.setHealth(id, null, false);
    const without = places(balancer);
    assert.deepEqual(
      keys.filter((_, at) => without[at] !== before[at]),
      keys.filter((_, at) => before[at] === address),
    );
    balancer.setHealth(id, null, true);
    assert.deepEqual(places(balancer), before);
  });

  it("spreads values by weight, and moves them only to the target whose weight increased", () => {
    const weighted = (weight: number) =>
      places(balancerOf({ upstream, targets: { "a:1": 100, "b:1": 100, "c:1": weight } }));
    const [light, heavy] = [weighted(100), weighted(200)];
    const count = (all: readonly (string | null)[], name: string) => all.filter((place) => place === name).length;
    assert.ok(Math.abs(count(heavy, "c:1") / keys.length - 0.5) < 0.03, String(count(heavy, "c:1")));
    for (const [at, place] of light.entries()) if (place !== heavy[at]) assert.equal(heavy[at], "c:1");
  });

  it("uses the targets in turn if the request has no value to hash", () => {
    const byHeader = { ...upstream, hash_on: "header", hash_on_header: "X-Key" };
    assert.equal(sequence(balancerOf({ upstream: byHeader, targets: { "a:1": 1, "b:1": 1 } }), 4), "abab");
  });
});
