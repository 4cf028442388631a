/** The conformance suite of leaky buckets. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type Bucket, type CounterOptions, type Counters, MIN_INTERVAL } from "@sluice/plugin-sdk";
import fc from "fast-check";

export interface BucketsUnderTest {
  readonly counters: Counters;
  readonly config: CounterOptions;
}

const START = Date.parse("2026-02-28T23:59:50.123Z");
const SECOND = 1000;

let names = 0;

/** A bucket that no other test uses: one request in ten seconds, and two more at once. */
function bucket(members: Partial<Bucket> = {}): Bucket {
  names += 1;
  return { name: `bucket ${names}`, scope: "-:-:-", period: "minute", interval: 10 * SECOND, burst: 2, ...members };
}

/**
 * @param open Called for every test. Returns empty buckets. `now` is the clock that the calls use, in Unix milliseconds
 */
export function bucketsSuite(name: string, open: (now: () => number) => Promise<BucketsUnderTest>): void {
  describe(name, () => {
    const clock = { now: START };
    let under: BucketsUnderTest;
    beforeEach(async () => {
      clock.now = START;
      under = await open(() => clock.now);
    });
    afterEach(() => under.counters.close());

    const fill = async (...buckets: readonly Bucket[]) => under.counters.fillBuckets(buckets, clock.now, under.config);
    const levels = async (...buckets: readonly Bucket[]) =>
      under.counters.bucketLevels(buckets, clock.now, under.config);
    const isAdmitted = async (one: Bucket) => (await fill(one)).admitted;

    it("admit one request more than the burst at once, and then one in every interval", async () => {
      const one = bucket();
      const steps: readonly (readonly [afterStart: number, admitted: boolean])[] = [
        [0, true],
        [0, true],
        [0, true],
        [0, false],
        [9_985, false],
        [10_000, true],
        [10_000, false],
        [19_985, false],
        [35_000, true],
        [35_000, true],
        [39_985, false],
        [40_000, true],
      ];
      for (const [after, admitted] of steps) {
        clock.now = START + after;
        assert.equal(await isAdmitted(one), admitted, `after ${after} ms`);
      }
    });

    it("admit again the whole burst after any time without requests, and no more", async () => {
      const one = bucket({ interval: MIN_INTERVAL, burst: 3 });
      for (const pause of [
        1,
        SECOND,
        7 * SECOND,
        9 * SECOND,
        12 * SECOND,
        2 ** 21 * MIN_INTERVAL,
        2 ** 22 * MIN_INTERVAL,
        86_400 * SECOND,
      ]) {
        clock.now += pause;
        const admitted: boolean[] = [];
        for (let sent = 0; sent < 5; sent++) admitted.push(await isAdmitted(one));
        assert.deepEqual(admitted, [true, true, true, true, false], `after ${pause} ms`);
      }
    });

    it("admit exactly as many of a thousand concurrent requests as their burst allows", async () => {
      const one = bucket({ burst: 299 });
      const results = await Promise.all(Array.from({ length: 1000 }, () => fill(one)));
      assert.equal(results.filter(({ admitted }) => admitted).length, 300);
    });

    it("return levels in requests, in the given order, and reading levels changes nothing", async () => {
      const [minute, hour] = [bucket({ name: "order" }), bucket({ name: "order", period: "hour" })];
      assert.deepEqual(await levels(minute, hour), [0, 0]);
      await fill(hour);
      assert.deepEqual(await fill(minute, hour), { admitted: true, levels: [1, 2] });
      clock.now += 2_500;
      assert.deepEqual(await levels(hour, minute), [1.75, 0.75]);
      assert.deepEqual(await levels(hour, minute), [1.75, 0.75]);
      clock.now += 3600 * SECOND;
      assert.deepEqual(await levels(hour, minute), [0, 0]);
    });

    it("change no bucket when one of them is too full", async () => {
      const narrow = bucket({ burst: 0 });
      const wide = bucket({ name: narrow.name, period: "hour", burst: 5 });
      assert.deepEqual(await fill(narrow, wide), { admitted: true, levels: [1, 1] });
      assert.deepEqual(await fill(narrow, wide), { admitted: false, levels: [1, 1] });
      assert.deepEqual(await fill(wide, narrow), { admitted: false, levels: [1, 1] });
      assert.deepEqual(await fill(wide), { admitted: true, levels: [2] });
    });

    it("distinguish names, periods and intervals", async () => {
      const first = bucket({ burst: 0 });
      const apart = [bucket({ burst: 0 }), { ...first, period: "hour" as const }, { ...first, interval: 5 * SECOND }];
      for (const one of [first, ...apart]) assert.equal(await isAdmitted(one), true);
      for (const one of [first, ...apart]) assert.equal(await isAdmitted(one), false);
    });

    it("apply the given burst, even if it changes", async () => {
      const one = bucket({ burst: 5 });
      for (let sent = 0; sent < 6; sent++) await fill(one);
      assert.deepEqual(await fill({ ...one, burst: 1 }), { admitted: false, levels: [2] });
      clock.now += one.interval;
      assert.deepEqual(await fill({ ...one, burst: 1 }), { admitted: true, levels: [2] });
      assert.deepEqual(await fill({ ...one, burst: 6 }), { admitted: true, levels: [3] });
    });

    it("admit exactly their burst if one request leaks out in a year", async () => {
      const one = bucket({ period: "year", interval: 365 * 86_400 * SECOND, burst: 99 });
      const admitted: boolean[] = [];
      for (let sent = 0; sent < 103; sent++) {
        admitted.push(await isAdmitted(one));
        clock.now += SECOND;
      }
      assert.equal(admitted.indexOf(false), 100);
      assert.equal(admitted.filter((is) => is).length, 100);
    });

    it("are as full for callers whose clocks are seconds behind", async () => {
      const one = bucket({ interval: 1, burst: 0 });
      assert.equal(await isAdmitted(one), true);
      clock.now -= 5 * SECOND;
      assert.deepEqual(await fill(one), { admitted: false, levels: [1] });
    });

    it("admit a request after one interval if the clock was set back by hours", async () => {
      const one = bucket();
      for (let sent = 0; sent < 4; sent++) await fill(one);
      clock.now -= 3 * 3600 * SECOND;
      await fill(one);
      clock.now += one.interval;
      assert.equal(await isAdmitted(one), true);
    });

    it("admit in any sequence exactly the requests that nginx' limit_req admits with nodelay", async () => {
      // Times are rounded to 1/1024 of the interval, so steps of an eighth of it are exact.
      const steps = fc.array(fc.nat({ max: 12 }), { maxLength: 40 });
      const shapes = fc.record({ interval: fc.constantFrom(8 * SECOND, 16 * SECOND), burst: fc.nat({ max: 4 }) });
      await fc.assert(
        fc.asyncProperty(steps, shapes, async (sequence, shape) => {
          clock.now = START;
          const one = bucket(shape);
          let excess: number | null = null;
          let last = clock.now;
          for (const step of sequence) {
            clock.now += (step * shape.interval) / 8;
            const now: number = excess === null ? 0 : Math.max(0, excess - (clock.now - last) / shape.interval + 1);
            const expected = now <= shape.burst;
            assert.equal(await isAdmitted(one), expected);
            if (expected) [excess, last] = [now, clock.now];
          }
        }),
        { numRuns: 40 },
      );
    });
  });
}
