import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Counters, Exchange } from "@sluice/plugin-sdk";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeCredential,
  fakeExchange,
  ThreadCounters,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { responseRatelimiting } from "./index.ts";

const start = Date.parse("2024-02-29T13:45:50.000Z");
const limits = { video: { minute: 3 }, image: { minute: 2, hour: 5 } };

/** An instance with its own counters and a clock that the test sets. */
function startInstance(config: object, counters: Counters = new ThreadCounters()) {
  const clock = { now: start };
  const log: string[] = [];
  const write = (facts: object, message: string) => void log.push(`${message} ${JSON.stringify(facts)}`);
  const context = fakeContext({ counters, now: () => clock.now, log: { info: write, warn: write, error: write } });
  const phases = responseRatelimiting.phases(
    withConfigDefaults("response-ratelimiting", { limits, ...config }),
    context,
  );

  /** Runs one exchange whose service reports these amounts. Null: the service is not reached. */
  async function send(reported: string | readonly string[] | null, options: FakeExchangeOptions = {}) {
    const fake = fakeExchange({ source: reported === null ? "gateway" : "service", ...options });
    const values = [reported ?? []].flat();
    const exchange: Exchange = { ...fake, responseHeaderValues: (name) => (name === "x-kong-limit" ? values : []) };
    const refusal = await phases.access?.(exchange);
    phases.responseHeaders?.(exchange);
    const body = refusal === undefined ? phases.responseBody?.(exchange) : null;
    phases.log?.(exchange);
    const answer = refusal ?? (body && "status" in body ? body : null);
    const left = Object.fromEntries(
      Object.entries(fake.responseHeaders.all()).filter(([name]) => name.startsWith("x-ratelimit-remaining")),
    );
    return {
      status: answer?.status ?? 200,
      answer,
      left,
      headers: fake.responseHeaders,
      upstream: fake.upstreamHeaders,
    };
  }
  return { clock, log, send };
}

const remaining = (video: number, image: number, images: number) => ({
  "x-ratelimit-remaining-video-minute": String(video),
  "x-ratelimit-remaining-image-minute": String(image),
  "x-ratelimit-remaining-image-hour": String(images),
});

describe("response-ratelimiting", () => {
  it("adds the amounts that the service reports, and sends what remains to the client and the upstream", async () => {
    const { send } = startInstance({});
    const first = await send("video=2, image = 1");
    assert.deepEqual([first.status, first.left], [200, remaining(1, 1, 4)]);
    assert.equal(first.headers.get("x-ratelimit-limit-image-hour"), "5");
    assert.deepEqual(first.upstream.all(), { "x-ratelimit-remaining-video": "3", "x-ratelimit-remaining-image": "2" });
    const second = await send("");
    assert.deepEqual(second.left, remaining(1, 1, 4));
    assert.equal(second.upstream.get("x-ratelimit-remaining-image"), "1");
  });

  it("answers 429 without a body in place of a response that reports an amount for a limit that is used up", async () => {
    const { send } = startInstance({});
    assert.equal((await send("video=5")).status, 200);
    const { answer, left } = await send("video=1,image=1");
    assert.deepEqual([answer, left], [{ status: 429, body: "" }, remaining(0, 1, 4)]);
    assert.deepEqual((await send("image=1")).left, remaining(0, 1, 4), "the replaced response did not count");
  });

  it("starts a new count when the period is over", async () => {
    const { send, clock } = startInstance({});
    await send("image=2");
    clock.now += 60_000;
    assert.deepEqual((await send("image=1")).left, remaining(3, 1, 2));
  });

  it("refuses requests with block_on_first_violation once a limit is used up", async () => {
    const { send } = startInstance({ block_on_first_violation: true });
    await send("image=2");
    assert.deepEqual((await send("")).answer, { status: 429, message: "API rate limit exceeded for 'image'" });
  });

  it("reads several headers, and ignores other names and invalid amounts", async () => {
    const { send } = startInstance({});
    const { left } = await send(["video=1, other=1", "image=x, image=1=1", "image=-1", "image", "image=1.5"]);
    assert.deepEqual(left, remaining(2, 2, 5));
  });

  it("counts nothing for a response of the gateway itself", async () => {
    const { send } = startInstance({});
    await send(null);
    assert.deepEqual((await send("")).left, remaining(3, 2, 5));
  });

  it("sends no headers to the client with hide_client_headers", async () => {
    const { send } = startInstance({ hide_client_headers: true });
    assert.deepEqual((await send("video=1")).headers.all(), {});
  });

  const [one, two] = ["1", "2"].map((digit) => fakeConsumer({ id: `${digit.repeat(8)}-1111-4111-8111-111111111111` }));
  const credentials = [fakeCredential(fakeConsumer(), "a"), fakeCredential(fakeConsumer(), "b")];
  for (const [limit_by, same, other] of [
    ["consumer", { consumer: one, clientAddress: "192.0.2.9" }, { consumer: two }],
    ["credential", { credential: credentials[0], clientAddress: "192.0.2.9" }, { credential: credentials[1] }],
    ["ip", { consumer: two }, { clientAddress: "192.0.2.9" }],
  ] as const) {
    it(`counts amounts separately for each ${limit_by} with limit_by ${limit_by}`, async () => {
      const { send } = startInstance({ limit_by });
      await send("video=3", { consumer: one ?? null, credential: credentials[0] ?? null });
      const left = async (options: object) => (await send("", options)).left["x-ratelimit-remaining-video-minute"];
      assert.deepEqual([await left(same), await left(other)], ["0", "3"]);
    });
  }

  for (const [fault_tolerant, status] of [
    [true, 200],
    [false, 500],
  ] as const) {
    it(`answers ${status} while the counters are unreachable if fault_tolerant is ${fault_tolerant}`, async () => {
      const gone: Counters = {
        incrementBelowLimit: () => Promise.reject(new Error("gone")),
        addAmount: () => Promise.reject(new Error("gone")),
        fillBuckets: () => Promise.reject(new Error("gone")),
        bucketLevels: () => Promise.reject(new Error("gone")),
        close: async () => undefined,
      };
      assert.equal((await startInstance({ fault_tolerant }, gone).send("video=1")).status, status);
    });
  }

  it("logs amounts that could not be added", async () => {
    let isGone = false;
    const local = new ThreadCounters();
    const counters: Counters = {
      fillBuckets: (buckets, now) => local.fillBuckets(buckets, now),
      bucketLevels: (buckets, now) => local.bucketLevels(buckets, now),
      incrementBelowLimit: (wanted) => local.incrementBelowLimit(wanted),
      addAmount: async (wanted, amount) => {
        if (isGone) throw new Error("gone");
        isGone = amount === 0 && wanted.length === 2;
        return local.addAmount(wanted, amount);
      },
      close: async () => undefined,
    };
    const { send, log } = startInstance({}, counters);
    await send("video=1");
    await new Promise(setImmediate);
    assert.match(log.join(), /^used amounts could not be counted \{"reason":"gone"/);
  });

  for (const [config, expected] of [
    [{ limits: undefined }, "limits: required field missing"],
    [{ limits: {} }, "limits: length must be at least 1"],
    [{ limits: { a: {} } }, "limits.a.@entity: at least one of these fields must be non-empty: 'second', 'minute'"],
    [{ limits: { a: { second: 0 } } }, "limits.a.second: value must be greater than 0"],
    [
      { limits: { a: { minute: 2, hour: 1 } } },
      "limits.a: the limit for hour(1.0) cannot be lower than the limit for minute(2.0)",
    ],
    [{ policy: "redis" }, "redis.host: required field missing"],
    [{ policy: "cluster" }, "policy: "],
  ] as const) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      const violations = configViolations("response-ratelimiting", { limits, ...config }).join("\n");
      assert.ok(violations.includes(expected), violations);
    });
  }
});
