/** The conformance suite of the rate-limit counters. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Counter, CounterOptions, WindowCounters } from "@sluice/plugin-sdk";

export interface CountersUnderTest {
  readonly counters: WindowCounters;
  readonly config: CounterOptions;
  /** The number of stored counters. */
  held(): Promise<number>;
}

/** What counters can do beyond counting requests below a limit. */
export interface CountersAbilities {
  /** A call may add another amount than 1. Default: true. */
  readonly amounts?: boolean;
  /** `held` returns the number of counters, which are dropped as soon as their windows are over. Default: true. */
  readonly drops?: boolean;
}

let names = 0;

/** A counter that no other test uses; its window began a second ago and lasts a minute. */
export function counter(members: Partial<Counter> = {}): Counter {
  names += 1;
  const windowStart = Date.now() - 1000;
  return {
    name: `counter ${names}`,
    scope: "-:-:-",
    period: "minute",
    windowStart,
    expires: windowStart + 60_000,
    limit: 5,
    ...members,
  };
}

/** Waits until a condition holds; fails after ten seconds. */
export async function waitForCounters(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await isSo())) {
    assert.ok(Date.now() < deadline, `this is not true after ten seconds: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * @param open Called for every test. Returns counters that have counted nothing yet.
 */
export function countersSuite(
  name: string,
  open: () => Promise<CountersUnderTest>,
  { amounts = true, drops = true }: CountersAbilities = {},
): void {
  describe(name, () => {
    let under: CountersUnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.counters.close());

    const take = async (...counters: readonly Counter[]) => under.counters.incrementBelowLimit(counters, under.config);

    it("admit exactly as many of a thousand concurrent requests as the limit allows", async () => {
      const one = counter({ limit: 300 });
      const taken = await Promise.all(Array.from({ length: 1000 }, () => take(one)));
      const admitted = taken.filter((each) => each.admitted);
      assert.equal(admitted.length, 300);
      const counts = admitted.map(({ counts: [count] }) => count ?? 0).sort((a, b) => a - b);
      assert.deepEqual(
        counts,
        Array.from({ length: 300 }, (_, index) => index + 1),
        "no two callers see the same count",
      );
    });

    it("return the values of all counters in the given order", async () => {
      const [minute, hour] = [counter({ name: "order" }), counter({ name: "order", period: "hour" })];
      await take(hour);
      await take(hour);
      assert.deepEqual(await take(minute, hour), { admitted: true, counts: [1, 3] });
      assert.deepEqual(await take(hour, minute), { admitted: true, counts: [4, 2] });
    });

    it("change no counter when one of them is at its limit", async () => {
      const narrow = counter({ limit: 1 });
      const wide = counter({ name: narrow.name, period: "hour" });
      assert.deepEqual(await take(narrow, wide), { admitted: true, counts: [1, 1] });
      assert.deepEqual(await take(narrow, wide), { admitted: false, counts: [1, 1] });
      assert.deepEqual(await take(wide), { admitted: true, counts: [2] });
    });

    it("distinguish names, periods and windows", async () => {
      const first = counter();
      const apart: readonly Counter[] = [
        counter(),
        { ...first, period: "hour" },
        { ...first, windowStart: first.windowStart + 1 },
      ];
      await take(first);
      for (const other of apart) assert.deepEqual(await take(other), { admitted: true, counts: [1] });
    });

    if (amounts) {
      it("add the amount of each call, unless a counter would exceed its limit", async () => {
        const one = counter({ limit: 10 });
        const other = counter({ limit: 100 });
        assert.deepEqual(await take({ ...one, amount: 7 }, { ...other, amount: 7 }), {
          admitted: true,
          counts: [7, 7],
        });
        assert.deepEqual(await take({ ...one, amount: 4 }, { ...other, amount: 4 }), {
          admitted: false,
          counts: [7, 7],
        });
        assert.deepEqual(await take({ ...one, amount: 3 }), { admitted: true, counts: [10] });
        assert.deepEqual(await take(one), { admitted: false, counts: [10] });
        assert.deepEqual(await take({ ...counter({ limit: 10 }), amount: 11 }), { admitted: false, counts: [0] });
      });

      it("admit concurrent calls with amounts exactly up to the limit", async () => {
        const one = counter({ limit: 100, amount: 7 });
        const taken = await Promise.all(Array.from({ length: 50 }, () => take(one)));
        assert.equal(taken.filter(({ admitted }) => admitted).length, 14);
        assert.deepEqual(await under.counters.addAmount([one], 0, under.config), [98]);
      });
    } else {
      it("refuse amounts other than 1", async () => {
        await assert.rejects(take(counter({ amount: 2 })), /counts requests, not costs/);
      });
    }

    it("round a fractional limit up", async () => {
      const half = counter({ limit: 0.5 });
      const more = counter({ limit: 1.5 });
      assert.deepEqual(
        [await take(half), await take(half)].map((each) => each.admitted),
        [true, false],
      );
      assert.deepEqual(
        [await take(more), await take(more), await take(more)].map((each) => each.admitted),
        [true, true, false],
      );
    });

    it("apply the given limit, even if it changes within a window", async () => {
      const one = counter({ limit: 1 });
      await take(one);
      assert.equal((await take(one)).admitted, false);
      assert.deepEqual(await take({ ...one, limit: 2 }), { admitted: true, counts: [2] });
    });

    if (drops)
      it("drop a counter when its window is over", async () => {
        const brief = counter({ period: "second", expires: Date.now() + 200 });
        await take(brief);
        await waitForCounters(async () => (await under.held()) === 1, "the counter is kept");
        await take({ ...brief, windowStart: brief.expires, expires: brief.expires + 60_000 });
        await waitForCounters(async () => (await under.held()) === 1, "only the later window's counter is kept");
      });

    it("add an amount whatever the limit, and read values without a change", async () => {
      const name = counter().name;
      const [minute, hour] = [counter({ name, limit: 1 }), counter({ name, period: "hour" })];
      const add = async (amount: number, ...wanted: readonly Counter[]) =>
        under.counters.addAmount(wanted, amount, under.config);
      assert.deepEqual(await add(0, minute, hour), [0, 0]);
      if (drops) assert.equal(await under.held(), 0, "reading creates no counter");
      assert.deepEqual(await add(3, hour), [3]);
      assert.deepEqual(await add(4, minute, hour), [4, 7]);
      assert.deepEqual(await add(0, hour, minute), [7, 4]);
    });

    it("add the amounts of concurrent calls exactly", async () => {
      const one = counter();
      await Promise.all(Array.from({ length: 100 }, async () => under.counters.addAmount([one], 2, under.config)));
      assert.deepEqual(await under.counters.addAmount([one], 0, under.config), [200]);
    });
  });
}
