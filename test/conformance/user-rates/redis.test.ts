/** Rates that replicas of the user directory share through a real Redis. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type TestOptions, testApp } from "../../../user-api/src/testing.ts";
import { waitFor } from "../../process/index.ts";
import { type Redis, startRedis } from "../../tools/redis.ts";

type Replica = Awaited<ReturnType<typeof testApp>>;

describe("the rates of two replicas with one Redis", () => {
  let redis: Redis;
  const replicas: Replica[] = [];
  const options = (): TestOptions => ({ requestsPerMinute: 4, redisUrl: redis.url });
  const status = async ({ app }: Replica): Promise<number> =>
    (await app.inject({ url: "/graphql?query={users{id}}" })).statusCode;
  const first = (): Replica => replicas[0] as Replica;
  const second = (): Replica => replicas[1] as Replica;
  const told = ({ logged }: Replica, msg: string): boolean => logged.some((line) => line.msg === msg);

  before(async () => {
    redis = await startRedis();
    replicas.push(await testApp(options()), await testApp(options()));
    for (const { app } of replicas) await app.ready();
  });
  after(async () => {
    for (const { app } of replicas) await app.close();
    await redis?.stop();
  });

  it("are one", async () => {
    // Until both have their connections, nothing is counted.
    await waitFor(async () => (await status(first())) === 429, { timeout: 10_000, what: "the first replica to count" });
    await waitFor(async () => (await status(second())) === 429, { timeout: 10_000, what: "the second one to count" });
    const { app } = second();
    const response = await app.inject({ url: "/graphql?query={users{id}}" });
    assert.match(response.json().error, /^Too many requests. Retry in \d+ seconds$/);
    assert.ok(Number(response.headers["retry-after"]) <= 60);
  });

  it("hold nobody up while Redis is away, are told of, and count again after it", async () => {
    await redis.stop();
    for (const replica of replicas) {
      await waitFor(async () => (await status(replica)) === 200, { timeout: 10_000, what: "an answer without Redis" });
    }
    for (let n = 0; n < 10; n++) assert.equal(await status(first()), 200);
    assert.ok(told(first(), "requests are not counted: Redis does not answer"));
    await redis.restart();
    await waitFor(async () => (await status(first())) === 429, {
      timeout: 10_000,
      what: "requests to be counted again",
    });
    assert.ok(told(first(), "requests are counted again"));
  });

  it("end without a word", async () => {
    const { app, logged } = await testApp(options());
    await waitFor(async () => (await app.inject({ url: "/graphql?query={users{id}}" })).statusCode === 429, {
      timeout: 10_000,
      what: "a third replica to count",
    });
    await app.close();
    assert.deepEqual(
      logged.filter(({ level }) => Number(level) > 30),
      [],
    );
  });
});
