import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Counters, periods, windowOf } from "@sluice/plugin-sdk";
import fc from "fast-check";
import {
  type FakeExchange,
  type FakeExchangeOptions,
  fakeContext,
  fakeExchange,
  ThreadCounters,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, filledRateLimiting } from "../../../test/plugins/filled-configs.ts";
import { rateLimiting } from "./index.ts";
import type { RateLimitingConfig } from "./schema.ts";

const start = Date.parse("2024-02-29T13:45:50.000Z");

/** A plugin instance with its own counters and a clock that the test sets. */
function limiter(members: Partial<RateLimitingConfig>, counters: Counters = new ThreadCounters()) {
  const clock = { now: start };
  const config = { ...filledRateLimiting, ...members };
  const plugin = rateLimiting.phases(config, fakeContext({ counters, now: () => clock.now }));
  const send = async (options?: FakeExchangeOptions) => {
    const exchange = fakeExchange(options);
    return { exchange, answer: await plugin.access?.(exchange) };
  };
  return { clock, send };
}

const headersOf = (exchange: FakeExchange) => exchange.responseHeaders.all();

describe("rate-limiting", () => {
  it("admits as many requests as the limit allows, reports what remains, and answers 429 after that", async () => {
    const { send } = limiter({ minute: 2 });
    const remaining: (string | undefined)[] = [];
    for (const admitted of [true, true, false, false]) {
      const { exchange, answer } = await send();
      assert.equal(answer === undefined, admitted);
      remaining.push(exchange.responseHeaders.get("X-RateLimit-Remaining-Minute"));
    }
    assert.deepEqual(remaining, ["1", "0", "0", "0"]);
    const { exchange, answer } = await send();
    assert.deepEqual(answer, {
      status: 429,
      message: "API rate limit exceeded",
      reason:
        "the limit of 2 per minute is reached, counted by consumer or, without one, by client address; each node counts for itself",
      headers: { "Retry-After": "10" },
    });
    assert.deepEqual(headersOf(exchange), {
      "x-ratelimit-limit-minute": "2",
      "x-ratelimit-remaining-minute": "0",
      "ratelimit-limit": "2",
      "ratelimit-remaining": "0",
      "ratelimit-reset": "10",
    });
  });

  it("gives as the reason that requests without a valid credential share the limit of the anonymous consumer", async () => {
    const { send } = limiter({ minute: 1 });
    await send({ anonymous: true });
    const { answer } = await send({ anonymous: true });
    assert.match(
      answer?.reason ?? "",
      /; all requests without a valid credential share the limit of the anonymous consumer$/,
    );
  });

  it("takes the cost of GraphQL operations from the limit, and refuses a request that costs more than is left", async () => {
    const { send } = limiter({ minute: 10, cost: "graphql" });
    const remaining: string[] = [];
    for (const [cost, admitted] of [
      ["6", true],
      ["5", false],
      ["3", true],
      [undefined, true],
      ["1", false],
      ["0", false],
    ] as const) {
      const { exchange, answer } = await send({ shared: cost === undefined ? {} : { "graphql.cost": cost } });
      assert.equal(answer === undefined, admitted, `cost ${cost}`);
      remaining.push(exchange.responseHeaders.get("X-RateLimit-Remaining-Minute") ?? "");
    }
    assert.deepEqual(remaining, ["4", "4", "1", "0", "0", "0"]);
  });

  it("with limit_by operation, callers of an operation share a counter", async () => {
    const { send } = limiter({ minute: 1, limit_by: "operation" });
    const statuses: unknown[] = [];
    for (const name of ["Report", "Users", "Report"]) {
      const { answer } = await send({ shared: { "graphql.operation": name } });
      statuses.push(answer?.status);
    }
    assert.deepEqual(statuses, [undefined, undefined, 429]);
  });

  it("counts costs only with algorithm fixed-window, and not in the database", () => {
    const violations = (members: object) =>
      configViolations("rate-limiting", { minute: 1, cost: "graphql", ...members }).filter((each) =>
        /^cost/.test(each),
      );
    assert.deepEqual(violations({ policy: "cluster" }), [
      "cost: cost graphql can only be used with the policies local, redis and fleet",
    ]);
    assert.deepEqual(violations({ algorithm: "bucket" }), [
      "cost: cost graphql can only be used with algorithm fixed-window",
    ]);
  });

  it("starts a new count when the window is over", async () => {
    const { clock, send } = limiter({ minute: 1 });
    await send();
    clock.now = start + 9_999;
    assert.equal((await send()).answer?.status, 429);
    clock.now = start + 10_000;
    assert.equal((await send()).answer, undefined);
  });

  it("reports the limit and the remaining requests of every period that is set", async () => {
    const { send } = limiter({ second: 1, minute: 2, hour: 3, day: 4, month: 5, year: 6 });
    const headers = headersOf((await send()).exchange);
    for (const [index, period] of periods.entries()) {
      assert.equal(headers[`x-ratelimit-limit-${period}`], String(index + 1));
      assert.equal(headers[`x-ratelimit-remaining-${period}`], String(index));
    }
  });

  const tightest: readonly [
    string,
    Partial<RateLimitingConfig>,
    { limit: string; remaining: string; reset: string },
  ][] = [
    [
      "the period with the fewest remaining requests",
      { minute: 5, hour: 3 },
      { limit: "3", remaining: "2", reset: "850" },
    ],
    [
      "the longest of several periods with equally few remaining requests",
      { minute: 3, hour: 3 },
      { limit: "3", remaining: "2", reset: "850" },
    ],
    [
      "the shorter period if fewer requests remain in it",
      { minute: 3, hour: 4 },
      { limit: "3", remaining: "2", reset: "10" },
    ],
  ];
  for (const [which, members, expected] of tightest) {
    it(`reports RateLimit-* of ${which}`, async () => {
      const { exchange } = await limiter({ minute: null, ...members }).send();
      const {
        "ratelimit-limit": limit,
        "ratelimit-remaining": remaining,
        "ratelimit-reset": reset,
      } = headersOf(exchange);
      assert.deepEqual({ limit, remaining, reset }, expected);
    });
  }

  it("does not count a request in a longer period if the limit of a shorter period refused it", async () => {
    const { clock, send } = limiter({ second: 1, minute: 2 });
    for (const [after, admitted] of [
      [0, true],
      [1, false],
      [2, false],
      [1000, true],
      [2000, false],
    ] as const) {
      clock.now = start + after;
      assert.equal((await send()).answer === undefined, admitted, `after ${after} ms`);
    }
  });

  it("sends no rate-limit headers if they are hidden, not even with the response 429", async () => {
    const { send } = limiter({ minute: 1, hide_client_headers: true });
    await send();
    const { exchange, answer } = await send();
    assert.deepEqual(headersOf(exchange), {});
    assert.deepEqual([answer?.status, answer?.headers], [429, undefined]);
  });

  it("answers a request over the limit with the configured status and message", async () => {
    const { send } = limiter({ minute: 1, error_code: 503, error_message: "Later" });
    await send();
    const { answer } = await send();
    assert.deepEqual([answer?.status, answer?.message], [503, "Later"]);
  });

  const away: Counters = {
    incrementBelowLimit: () => Promise.reject(new Error("gone")),
    addAmount: () => Promise.reject(new Error("gone")),
    fillBuckets: () => Promise.reject(new Error("gone")),
    bucketLevels: () => Promise.reject(new Error("gone")),
    close: async () => undefined,
  };
  for (const [fault_tolerant, status, algorithm] of [
    [true, undefined, "fixed-window"],
    [false, 500, "fixed-window"],
    [true, undefined, "bucket"],
    [false, 500, "bucket"],
  ] as const) {
    it(`with algorithm ${algorithm} answers ${status ?? "as without a limit"} while the counters cannot be reached and fault_tolerant is ${fault_tolerant}`, async () => {
      const { exchange, answer } = await limiter({ fault_tolerant, algorithm }, away).send();
      assert.equal(answer?.status, status);
      assert.deepEqual(headersOf(exchange), {});
    });
  }

  it("in any sequence, admits exactly the requests for which no window of the client is full", async () => {
    const steps = fc.array(fc.tuple(fc.nat({ max: 700 }), fc.nat({ max: 2 })), { maxLength: 120 });
    const limits = fc.record({ second: fc.integer({ min: 1, max: 4 }), minute: fc.integer({ min: 4, max: 20 }) });
    await fc.assert(
      fc.asyncProperty(steps, limits, async (sequence, limit) => {
        const { clock, send } = limiter({ ...limit, limit_by: "ip" });
        const admitted = new Map<string, number>();
        for (const [step, client] of sequence) {
          clock.now += step;
          const keys = (["second", "minute"] as const).map((period) => ({
            key: `${client} ${period} ${windowOf(period, clock.now).start}`,
            limit: limit[period],
          }));
          const expected = keys.every(({ key, limit }) => (admitted.get(key) ?? 0) < limit);
          const { answer } = await send({ clientAddress: `192.0.2.${client}` });
          assert.equal(answer === undefined, expected);
          if (expected) for (const { key } of keys) admitted.set(key, (admitted.get(key) ?? 0) + 1);
        }
      }),
      { numRuns: 60 },
    );
  });
});
