import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Counter, Period } from "@sluice/plugin-sdk";
import { HORIZON, LONG_HORIZON } from "../fleet-clock.ts";
import { LeaseWords } from "./lease-words.ts";
import { LeasedCounter } from "./leased-counter.ts";

const counter: Counter = {
  name: "one",
  scope: "-:-:-",
  period: "minute",
  windowStart: 0,
  expires: 60_000,
  limit: 1000,
};

const leased = (of = counter) => new LeasedCounter(of, 1, LeaseWords.own());

describe("a leased counter", () => {
  for (const [recall, returned] of [
    [{ wanted: 1, share: 0.9 }, 18],
    [{ wanted: 1, share: 0.5 }, 10],
    [{ wanted: 1, share: 0 }, 5],
    [{ wanted: 15, share: 0.1 }, 15],
    [{ wanted: 50, share: 0.1 }, 20],
  ] as const)
    it(`gives back ${returned} of 20 tokens if ${recall.wanted} are wanted by nodes with ${100 * recall.share} % of the demand`, () => {
      const lease = leased();
      lease.receive(23);
      lease.spend(3);
      lease.giveBackPart(recall);
      assert.deepEqual([lease.account.returned, lease.held], [returned, 20 - returned]);
    });

  it("does not give back tokens for which requests wait", () => {
    const lease = leased();
    lease.receive(5);
    lease.await({ id: 1, leases: [lease], amount: 4, unowned: "closed" });
    lease.giveBackPart({ wanted: 5, share: 1 });
    assert.deepEqual([lease.account.returned, lease.held], [1, 4]);
  });

  /** The extra tokens of the last ask, with pauses between the requests, if the owner grants them all. */
  function extraAfter(milliseconds: number, pause: number, period: Period = "minute"): number {
    const lease = leased({ ...counter, period, limit: 1_000_000 });
    for (let now = 0; now < milliseconds; now += pause) {
      if (lease.held <= 0 || lease.isLow) {
        lease.begin(now, true);
        lease.receive(lease.used + 1 + lease.ask().extra);
        lease.end();
      }
      assert.ok(lease.spend(1));
    }
    return lease.ask().extra;
  }

  for (const [period, pause, least] of [
    ["minute", 1, 2 * HORIZON],
    ["minute", 5, 2 * HORIZON],
    ["hour", 1, 2 * LONG_HORIZON],
  ] as const)
    it(`of a limit per ${period} wants the tokens of ${least} to ${2 * least} ms in advance with a request every ${pause} ms`, () => {
      const extra = extraAfter(5000, pause, period) * pause;
      assert.ok(extra >= least && extra <= 2 * least, `${extra}`);
    });

  it("wants none in advance with a request per second", () => {
    assert.equal(extraAfter(30_000, 1000), 0);
  });

  it("expects the demand of the window before", () => {
    const before = leased();
    for (let now = 0; now < 20; now++) {
      before.begin(now, true);
      before.receive(before.used + 1);
      before.spend(1);
      before.end();
    }
    const next = leased();
    next.expect(before);
    next.begin(1000, true);
    assert.equal(next.ask().extra, before.ask().extra);
    assert.ok(next.ask().extra > 1);
  });
});
