/** The conformance suite of counters with sliding windows. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Counter, Counters } from "@sluice/plugin-sdk";
import type { CountersUnderTest } from "./suite.ts";

const MINUTE = 60_000;
let names = 0;

/** A counter of a minute in which a fifth of the window before counts: of four requests, one. */
function counter(name: string, limit: number): Counter {
  const windowStart = Date.now() - 0.8 * MINUTE;
  const end = windowStart + MINUTE;
  return {
    name,
    scope: "-:-:-",
    period: "minute",
    windowStart,
    expires: end + MINUTE,
    limit,
    sliding: { previousStart: windowStart - MINUTE, end, weight: 0.2 },
  };
}

type SlidingUnderTest = Omit<CountersUnderTest, "counters" | "held"> & {
  readonly counters: Pick<Counters, "incrementBelowLimit" | "addAmount"> & Partial<Pick<Counters, "close">>;
};

/** @param open Called for every test */
export function slidingCountersSuite(name: string, open: () => Promise<SlidingUnderTest>): void {
  describe(name, () => {
    let under: SlidingUnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.counters.close?.());

    const take = async (...counters: readonly Counter[]) => under.counters.incrementBelowLimit(counters, under.config);

    /** The counter of a window, after `requests` requests in the window before. */
    async function after(requests: number, limit: number): Promise<Counter> {
      names += 1;
      const now = counter(`sliding ${names}`, limit);
      const { previousStart = 0 } = now.sliding ?? {};
      const sliding = { previousStart: previousStart - MINUTE, end: now.windowStart, weight: 0 };
      const before = { ...now, windowStart: previousStart, expires: now.expires - MINUTE, limit: requests, sliding };
      const taken = await Promise.all(Array.from({ length: requests }, () => take(before)));
      assert.ok(taken.every(({ admitted }) => admitted));
      return now;
    }

    it("count a part of the window before, rounded up, and return its requests", async () => {
      const one = await after(4, 4);
      assert.deepEqual(await take(one), { admitted: true, counts: [2], previous: [4] });
      assert.deepEqual(await take(one), { admitted: true, counts: [3], previous: [4] });
      assert.deepEqual(await take(one), { admitted: true, counts: [4], previous: [4] });
      assert.deepEqual(await take(one), { admitted: false, counts: [4], previous: [4] });
    });

    it("admit exactly as many concurrent requests as the limit leaves", async () => {
      const one = await after(4, 101);
      const taken = await Promise.all(Array.from({ length: 300 }, () => take(one)));
      assert.equal(taken.filter(({ admitted }) => admitted).length, 100);
    });

    it("change no counter when one of them has no room, and read the estimates", async () => {
      const [narrow, wide] = [await after(1, 1), await after(4, 100)];
      assert.equal((await take(wide, narrow)).admitted, false);
      assert.deepEqual(await under.counters.addAmount([wide, narrow], 0, under.config), [1, 1]);
    });
  });
}
