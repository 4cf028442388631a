import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeContext,
  fakeExchange,
  fakeScope,
  ThreadCounters,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { rateLimiting } from "./index.ts";

const START = Date.parse("2026-11-29T00:45:03.000Z");

/** An instance with a clock that the test sets; refused requests get 503, as from nginx. */
function limiter(config: object, { counters = new ThreadCounters(), routeId = "a" } = {}) {
  const clock = { now: START };
  const context = fakeContext({ counters, now: () => clock.now, scope: fakeScope({ routeId }) });
  const bucket = { algorithm: "bucket", limit_by: "ip", error_code: 503 };
  const phases = rateLimiting.phases(withConfigDefaults("rate-limiting", { ...bucket, ...config }), context);
  const send = async (options?: FakeExchangeOptions) => {
    const exchange = fakeExchange(options);
    const answer = await phases.access?.(exchange);
    return { answer, status: answer?.status ?? 200, headers: exchange.responseHeaders.all() };
  };
  return { clock, send };
}

type Row = readonly [
  what: string,
  config: object,
  /** Milliseconds after the first request, and the status. */
  requests: readonly (readonly [after: number, status: number])[],
];

const atOnce = (admitted: number, refused: number) => [
  ...Array.from({ length: admitted }, () => [0, 200] as const),
  ...Array.from({ length: refused }, () => [0, 503] as const),
];

/** Recorded with nginx 1.22.1: `limit_req_zone $binary_remote_addr … rate=…` and `limit_req … burst=… nodelay`. */
const recorded: readonly Row[] = [
  ["rate=1r/s, burst=5", { second: 1, burst: { second: 5 } }, atOnce(6, 2)],
  ["rate=2r/m, burst=10", { minute: 2, burst: { minute: 10 } }, atOnce(11, 1)],
  ["rate=1r/s, burst=1", { second: 1, burst: { second: 1 } }, [...atOnce(2, 1), [1100, 200], [1100, 503]]],
  ["no limit for an address in `geo`", { second: 1, burst: { second: 1 }, exempt: ["192.0.2.0/24"] }, atOnce(4, 0)],
];

describe("rate-limiting with algorithm bucket", () => {
  for (const [what, config, requests] of recorded) {
    it(`answers like nginx with ${what}: ${requests.map(([, status]) => status).join(" ")}`, async () => {
      const { clock, send } = limiter(config);
      for (const [at, [after, status]] of requests.entries()) {
        clock.now = START + after;
        assert.equal((await send()).status, status, `request ${at + 1}`);
      }
    });
  }

  it("admits one request in each interval if there is no burst", async () => {
    const { clock, send } = limiter({ minute: 60 });
    const statuses: number[] = [];
    for (let sent = 0; sent < 6; sent++) {
      statuses.push((await send()).status);
      clock.now += 500;
    }
    assert.deepEqual(statuses, [200, 503, 200, 503, 200, 503]);
  });

  it("admits a request only if the buckets of all periods do, and counts no refused request", async () => {
    const { clock, send } = limiter({ second: 1, minute: 2, burst: { minute: 1 } });
    const steps = [
      [0, 200],
      [500, 503],
      [1000, 200],
      [2000, 503],
      [29_900, 503],
      [30_000, 200],
    ] as const;
    for (const [after, status] of steps) {
      clock.now = START + after;
      assert.equal((await send()).status, status, `after ${after} ms`);
    }
  });

  it("reports the limit of each period, and in RateLimit-* the bucket that admits the fewest requests", async () => {
    const { send } = limiter({ second: 5, minute: 60, burst: { second: 25, minute: 2 } });
    await send();
    assert.deepEqual((await send()).headers, {
      "x-ratelimit-limit-second": "5",
      "x-ratelimit-remaining-second": "24",
      "x-ratelimit-limit-minute": "60",
      "x-ratelimit-remaining-minute": "1",
      "ratelimit-limit": "3",
      "ratelimit-remaining": "1",
      "ratelimit-reset": "2",
    });
  });

  it("reports in Retry-After the seconds until all buckets admit a request", async () => {
    const { clock, send } = limiter({ second: 1, minute: 4 });
    await send();
    clock.now += 4_200;
    const { answer, headers } = await send();
    assert.deepEqual(answer, {
      status: 503,
      message: "API rate limit exceeded",
      reason:
        "the limit of 1 per second or 4 per minute is reached, counted by client address; each node counts for itself",
      headers: { "Retry-After": "11" },
    });
    assert.equal(headers["ratelimit-remaining"], "0");
  });

  it("sends no rate-limit headers if they are hidden", async () => {
    const { send } = limiter({ second: 1, hide_client_headers: true });
    await send();
    const { answer, headers } = await send();
    assert.deepEqual([answer?.headers, headers], [undefined, {}]);
  });

  it("has a bucket for each client", async () => {
    const { send } = limiter({ second: 1 });
    const statuses: number[] = [];
    for (const clientAddress of ["192.0.2.1", "192.0.2.2", "192.0.2.1"])
      statuses.push((await send({ clientAddress })).status);
    assert.deepEqual(statuses, [200, 200, 503]);
  });
});

for (const algorithm of ["bucket", "fixed-window"]) {
  describe(`rate-limiting with algorithm ${algorithm}`, () => {
    it("neither limits nor counts requests of exempt addresses, and sets no headers", async () => {
      const { send } = limiter({ algorithm, second: 1, limit_by: "service", exempt: ["10.0.0.0/8"] });
      for (let sent = 0; sent < 3; sent++) {
        const { status, headers } = await send({ clientAddress: "10.1.2.3" });
        assert.deepEqual([status, headers], [200, {}]);
      }
      assert.equal((await send()).status, 200);
      assert.equal((await send()).status, 503);
    });

    it("counts requests of several instances together if they have the same scope_name", async () => {
      const counters = new ThreadCounters();
      const config = { algorithm, minute: 1, scope_name: "shop" };
      const statusOf = async (routeId: string, more: object = {}, request: FakeExchangeOptions = {}) =>
        (await limiter({ ...config, ...more }, { counters, routeId }).send(request)).status;
      assert.equal(await statusOf("a"), 200);
      assert.equal(await statusOf("b"), 503);
      assert.equal(await statusOf("b", { scope_name: "other" }), 200);
      assert.equal(await statusOf("b", { scope_name: null }), 200);
      assert.equal(await statusOf("b", {}, { namespace: "team" }), 200, "of a route in another namespace");
    });
  });
}

describe("the config of rate-limiting", () => {
  const bucket = { second: 5, algorithm: "bucket" };
  for (const [config, messages] of [
    [{ ...bucket, burst: { second: 25 } }, []],
    [{ ...bucket, minute: 2 }, []],
    [{ ...bucket, policy: "redis", redis: { host: "redis.test" } }, []],
    [{ second: 5, burst: { second: 25 } }, ["burst: burst can only be used with algorithm bucket"]],
    [{ second: 5, burst: {} }, []],
    [{ ...bucket, burst: { minute: 1 } }, ["burst.minute: there is no limit for minute"]],
    [{ ...bucket, burst: { second: 1_000_001 } }, ["burst.second: value should be between 0 and 1000000"]],
    [{ ...bucket, second: 50_001 }, ["second: a bucket admits at most 50000 requests per second"]],
    [{ second: 50_001 }, []],
    [
      { ...bucket, policy: "cluster" },
      [
        "policy: expected one of: local, redis, fleet (cluster needs the database mode)",
        "policy: algorithm bucket can only be used with the policies local and redis",
      ],
    ],
    [
      { ...bucket, policy: "redis", redis: { host: "redis.test" }, sync_rate: 1 },
      ["sync_rate: algorithm bucket counts every request in Redis: sync_rate must be -1"],
    ],
    [{ second: 5, exempt: ["10.0.0.0/33"] }, ["exempt.0: invalid ip or cidr range: '10.0.0.0/33'"]],
    [{ second: 5, minute: 2 }, [": The limit for minute(2.0) cannot be lower than the limit for second(5.0)"]],
  ] as const) {
    it(`${messages.length === 0 ? "may" : "must not"} be ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("rate-limiting", config), messages);
    });
  }
});
