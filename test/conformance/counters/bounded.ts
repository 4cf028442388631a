/** The conformance suite of counters with a bounded capacity, when that capacity is exhausted. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Counter, Counters } from "@sluice/plugin-sdk";
import { counter } from "./suite.ts";

const SECOND = 1000;
const DAY = 86_400 * SECOND;
const windowStart = Date.now() - SECOND;

/** `count` counters of one plugin instance (`scope`), each for a different identifier. */
const countersOf = (scope: string, count: number, members: Partial<Counter> = {}): readonly Counter[] =>
  Array.from({ length: count }, (_, at) =>
    counter({ name: `${scope}:${at}`, scope, windowStart, expires: windowStart + DAY, ...members }),
  );

/** Counters that a flood must not drop: their windows end before, at the same time as, or after those of the flood. */
const victims: readonly (readonly [which: string, members: Partial<Counter>])[] = [
  ["of a minute", { period: "minute", expires: windowStart + 60 * SECOND }],
  ["of an hour", { period: "hour", expires: windowStart + 3600 * SECOND }],
  ["of a day", { period: "day" }],
  ["of a month", { period: "month", expires: windowStart + 30 * DAY }],
];

/**
 * @param open Opens new counters with this `capacity` for every test. Each item of the list stands for one of the
 * workers that share a memory.
 */
export function boundedCountersSuite(name: string, open: (capacity: number) => readonly [Counters, ...Counters[]]) {
  const capacity = 4096;

  function opened() {
    const users = open(capacity);
    let turn = 0;
    return async (one: Counter) => {
      const user = users[turn++ % users.length] ?? users[0];
      const taken = await user.incrementBelowLimit([one], undefined as never);
      return taken.counts[0] ?? 0;
    };
  }

  describe(name, () => {
    for (const [which, members] of victims)
      for (const times of [1.02, 3])
        it(`keep an instance's counters ${which} while another instance adds ${times} times the capacity in counters of a day`, async () => {
          const take = opened();
          const kept = countersOf("kept", capacity / 50, members);
          for (const one of kept) await take(one);
          for (const one of countersOf("flood", capacity * times, { period: "day" })) await take(one);
          const reset: number[] = [];
          for (const one of kept) if ((await take(one)) !== 2) reset.push(1);
          assert.equal(reset.length, 0, `${reset.length} of ${kept.length} counters began again`);
        });

    it("keep an instance's counters up to its share while several other instances exceed their shares", async () => {
      const take = opened();
      const kept = countersOf("kept", capacity / 20);
      for (const one of kept) await take(one);
      const floods = [1, 2, 3, 4].map((at) => countersOf(`flood ${at}`, capacity));
      for (let at = 0; at < capacity; at++) for (const flood of floods) await take(flood[at] as Counter);
      for (const one of kept) assert.equal(await take(one), 2, one.name);
    });

    it("make room for a new instance when another instance has filled them", async () => {
      const take = opened();
      const flood = countersOf("flood", capacity * 2);
      for (const one of flood.slice(0, capacity)) await take(one);
      const late = countersOf("late", capacity / 20);
      for (const one of late) await take(one);
      for (const one of flood.slice(capacity)) await take(one);
      for (const one of late) assert.equal(await take(one), 2, one.name);
    });

    it("do not count expired counters towards an instance's share", async () => {
      const take = opened();
      // A busy instance: its per-second counters fill half of the capacity and have expired when the flood begins.
      const over = { period: "second", windowStart: windowStart - 10 * SECOND, expires: windowStart - SECOND } as const;
      for (const one of countersOf("kept", capacity / 2, over)) await take(one);
      const kept = countersOf("kept", capacity / 50);
      for (const one of kept) await take(one);
      for (let at = 0; at < 3; at++) for (const one of countersOf(`flood ${at}`, capacity)) await take(one);
      for (const one of kept) assert.equal(await take(one), 2, one.name);
    });
  });
}
