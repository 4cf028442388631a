import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SlidingWindows, windowOf } from "@sluice/plugin-sdk";
import { createCounters, fakeContext, fakeExchange, fakeScope } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { rateLimiting } from "./index.ts";
import { Limit } from "./limits.ts";
import { secondsUntilAdmitted } from "./sliding.ts";

const HOUR = 3_600_000;
const START = Date.parse("2026-02-28T13:00:00.000Z");

/** An instance with a clock that the test sets. `send` returns the status, and the headers of the limit. */
function limiter(config: object) {
  const clock = { now: START };
  const counters = createCounters({ warn: assert.fail, connect: () => assert.fail() });
  const context = fakeContext({ counters, now: () => clock.now, scope: fakeScope() });
  const filled = withConfigDefaults("rate-limiting", { limit_by: "ip", window_type: "sliding", ...config });
  const { access } = rateLimiting.phases(filled, context);
  const send = async () => {
    const exchange = fakeExchange();
    const answer = await access?.(exchange);
    const headers = exchange.responseHeaders.all();
    return {
      status: answer?.status ?? 200,
      remaining: headers["ratelimit-remaining"],
      reset: headers["ratelimit-reset"],
      retry: answer?.headers?.["Retry-After"],
    };
  };
  const admitted = async (requests: number) => {
    let count = 0;
    for (let sent = 0; sent < requests; sent++) if ((await send()).status === 200) count += 1;
    return count;
  };
  return { clock, send, admitted };
}

describe("rate-limiting with window_type sliding", () => {
  it("admits in each window what the part of the window before that counts leaves of the limit", async () => {
    const { clock, admitted } = limiter({ hour: 100 });
    clock.now = START + 0.9 * HOUR;
    assert.equal(await admitted(200), 100);
    for (const [at, expected] of [
      [1.0, 0],
      [1.1, 10],
      [1.5, 40],
      // In the next window, 50 requests count in part, and those of the first window not at all.
      [2.0, 50],
      [2.5, 25],
      [4.0, 100],
    ] as const) {
      clock.now = START + at * HOUR;
      assert.equal(await admitted(200), expected, `after ${at} hours`);
    }
  });

  it("admits hardly more than the limit around the end of a window, where fixed windows admit twice the limit", async () => {
    for (const [window_type, expected] of [
      ["fixed", 200],
      ["sliding", 101],
    ] as const) {
      const { clock, admitted } = limiter({ hour: 100, window_type });
      clock.now = START + HOUR - 36_000;
      const before = await admitted(200);
      clock.now = START + HOUR + 36_000;
      assert.equal(before + (await admitted(200)), expected, window_type);
    }
  });

  it("reports the seconds until nothing counts any more, and with a refusal those until a request is admitted", async () => {
    const { clock, send, admitted } = limiter({ hour: 4 });
    clock.now = START + 0.5 * HOUR;
    await admitted(3);
    assert.deepEqual(await send(), { status: 200, remaining: "0", reset: "5400", retry: undefined });
    // A quarter of the present requests must have left the estimate: 15 minutes after the window.
    assert.deepEqual(await send(), { status: 429, remaining: "0", reset: "5400", retry: "2700" });
    clock.now = START + HOUR;
    assert.deepEqual(await send(), { status: 429, remaining: "0", reset: "3600", retry: "900" });
    clock.now = START + 1.25 * HOUR;
    assert.equal((await send()).status, 200);
    assert.deepEqual(await send(), { status: 429, remaining: "0", reset: "6300", retry: "900" });
    clock.now = START + 1.5 * HOUR;
    assert.equal((await send()).status, 200);
  });

  it("reports a second if a request is refused although there seems to be room, as by a node that shuts down", () => {
    for (const count of [0, 9])
      assert.equal(secondsUntilAdmitted(new Limit("hour", 10), 1, { count, previous: 0, now: START }), 1);
  });

  for (const [config, messages] of [
    [{ minute: 5 }, []],
    [{ minute: 5, policy: "fleet" }, []],
    [{ minute: 5, policy: "redis", redis: { host: "redis.test" } }, []],
    [
      { minute: 5, algorithm: "bucket" },
      ["window_type: window_type sliding can only be used with algorithm fixed-window"],
    ],
    [
      { minute: 5, policy: "redis", redis: { host: "redis.test" }, sync_rate: 1 },
      ["sync_rate: window_type sliding counts every request in Redis: sync_rate must be -1"],
    ],
  ] as const)
    it(`${messages.length === 0 ? "can" : "cannot"} be used with ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("rate-limiting", { ...config, window_type: "sliding" }), messages);
    });
});

describe("SlidingWindows", () => {
  it("knows the months before and after, whatever their lengths", () => {
    const windows = new SlidingWindows("month");
    for (const now of [START, START + 1, Date.parse("2026-03-31T23:59:59Z")]) {
      const { start, end, previousStart, nextEnd } = windows.at(now);
      assert.deepEqual({ start, end }, windowOf("month", now));
      assert.deepEqual({ start: previousStart, end: start }, windowOf("month", start - 1));
      assert.deepEqual({ start: end, end: nextEnd }, windowOf("month", end));
    }
  });
});
