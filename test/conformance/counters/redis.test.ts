import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { CounterOptions } from "@sluice/plugin-sdk";
import { Redis } from "ioredis";
import { RedisCounters } from "../../../gateway/src/counters/redis/redis-counters.ts";
import { SyncedCounters } from "../../../gateway/src/counters/redis/redis-synced-counters.ts";
import { slidingCounters } from "../../../gateway/src/counters/sliding-windows.ts";
import { connectBehind } from "../../../gateway/src/outbound/connect.ts";
import { createGuard } from "../../../gateway/src/outbound/guard.ts";
import { freePort } from "../../../tools/process/index.ts";
import { startRedis } from "../../../tools/programs/servers/redis.ts";
import { filledRateLimiting as filled } from "../../plugins/filled-configs.ts";
import { bucketsSuite } from "./buckets.ts";
import { costsSuite } from "./costs.ts";
import { slidingCountersSuite } from "./sliding.ts";
import { counter, countersSuite, waitForCounters } from "./suite.ts";

type Facts = Readonly<Record<string, unknown>>;

const silent = () => undefined;

const connectTo = (...allowedUpstreams: readonly string[]) =>
  connectBehind(createGuard({ allowedUpstreams, ownListeners: [] }));
const connect = connectTo("127.0.0.0/8");

let redis: Awaited<ReturnType<typeof startRedis>>;
let admin: Redis;

before(async () => {
  redis = await startRedis();
  admin = new Redis(redis.url);
  // One test stops the server; this connection reconnects by itself.
  admin.on("error", silent);
});
after(async () => {
  admin.disconnect();
  await redis.stop();
});

const configWith = (members: Partial<CounterOptions["redis"]> = {}, sync_rate = -1): CounterOptions => ({
  ...filled,
  policy: "redis",
  sync_rate,
  redis: { ...filled.redis, host: "127.0.0.1", port: redis.port, ...members },
});

const connections = async () => String(await admin.client("LIST")).match(/\bname=sluice\b/g)?.length ?? 0;

countersSuite("Redis counters", async () => {
  await admin.flushall();
  return { counters: new RedisCounters({ warn: silent, connect }), config: configWith(), held: () => admin.dbsize() };
});

costsSuite("the headers of rate-limiting with policy redis", async () => {
  await admin.flushall();
  const redisOptions = { ...filled.redis, host: "127.0.0.1", port: redis.port };
  const options = { policy: "redis", sync_rate: -1, redis: redisOptions } as const;
  return { counters: new RedisCounters({ warn: silent, connect }), options };
});

countersSuite("Redis counters with a sync_rate", async () => {
  await admin.flushall();
  return {
    counters: new RedisCounters({ warn: silent, connect }),
    config: configWith({}, 0.02),
    held: () => admin.dbsize(),
  };
});

slidingCountersSuite("Redis counters with sliding windows", async () => {
  const counters = new RedisCounters({ warn: silent, connect });
  return { counters: { ...slidingCounters(counters), close: () => counters.close() }, config: configWith() };
});

bucketsSuite("Redis buckets", async () => {
  await admin.flushall();
  return { counters: new RedisCounters({ warn: silent, connect }), config: configWith() };
});

it("a bucket in Redis expires a second after it is empty, and nodes share it", async () => {
  const [here, there] = [new RedisCounters({ warn: silent, connect }), new RedisCounters({ warn: silent, connect })];
  await admin.flushall();
  const one = { name: "shared", scope: "-:-:-", period: "minute", interval: 10_000, burst: 1 } as const;
  const now = Date.now();
  assert.deepEqual(await here.fillBuckets([one], now, configWith()), { admitted: true, levels: [1] });
  assert.deepEqual(await there.fillBuckets([one], now, configWith()), { admitted: true, levels: [2] });
  assert.deepEqual(await here.fillBuckets([one], now, configWith()), { admitted: false, levels: [2] });
  const [key = ""] = await admin.keys("*");
  const left = await admin.pttl(key);
  assert.ok(left > 15_000 && left <= 21_000, `${left}`);
  await Promise.all([here.close(), there.close()]);
});

describe("every counter in Redis", () => {
  for (const sync_rate of [-1, 0.02]) {
    it(`is kept for its window and one more second, with sync_rate ${sync_rate}`, async () => {
      await admin.flushall();
      const counters = new RedisCounters({ warn: silent, connect });
      await counters.incrementBelowLimit([counter(), counter()], configWith({}, sync_rate));
      await waitForCounters(async () => (await admin.dbsize()) === 2, "both counters are in Redis");
      for (const key of await admin.keys("*")) {
        const left = await admin.pttl(key);
        assert.ok(left > 50_000 && left <= 61_000, `${key}: ${left}`);
      }
      await counters.close();
    });
  }
});

it("a read of Redis counters with a sync_rate includes what this worker has counted since the last exchange", async () => {
  await admin.flushall();
  const counters = new RedisCounters({ warn: silent, connect });
  const config = configWith({}, 3600);
  const read = counter();
  assert.deepEqual(await counters.addAmount([read], 0, config), [0]);
  await counters.incrementBelowLimit([read], config);
  assert.deepEqual(await counters.addAmount([read], 0, config), [1]);
  assert.equal(await admin.dbsize(), 0);
  await counters.close();
});

describe("Redis counters of concurrent requests", () => {
  /** All counters are in one window. */
  const { windowStart, expires } = counter();
  const named = (name: string, limit = 5) => counter({ name, limit, windowStart, expires });
  const many = (length: number, limit: number) =>
    Array.from({ length }, (_, index) => [named(`n${index % 7}`, limit), named(`m${index}`)]);

  it("are incremented in one round trip, each up to its own limit", async () => {
    await admin.flushall();
    const counters = new RedisCounters({ warn: silent, connect });
    const config = configWith();
    // The first call loads the script into Redis.
    await counters.incrementBelowLimit([counter()], config);
    const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info("commandstats"))?.[1]);
    const before = await calls();
    const taken = await Promise.all(many(490, 10).map((each) => counters.incrementBelowLimit(each, config)));
    assert.equal((await calls()) - before, 1);
    assert.equal(taken.filter(({ admitted }) => admitted).length, 70);
    const [first, seventh, eighth] = [taken[0], taken[6], taken[7]];
    assert.deepEqual(
      [first?.counts, seventh?.counts, eighth?.counts],
      [
        [1, 1],
        [1, 1],
        [2, 1],
      ],
    );
    assert.deepEqual(taken.at(-1), { admitted: false, counts: [10, 0] });
    assert.equal(
      (await Promise.all(many(1200, 1000).map((each) => counters.incrementBelowLimit(each, config)))).length,
      1200,
    );
    await counters.close();
  });

  for (const sync_rate of [-1, 0.02]) {
    it(`are incremented one by one if a cluster has them in different slots, with sync_rate ${sync_rate}`, async () => {
      const cluster = await startRedis("--cluster-enabled", "yes", "--cluster-port", String(await freePort()));
      const client = new Redis(cluster.url);
      const counters = new RedisCounters({ warn: silent, connect });
      try {
        await client.cluster("ADDSLOTSRANGE", 0, 16383);
        await waitForCounters(
          async () => /cluster_state:ok/.test(String(await client.cluster("INFO"))),
          "the cluster is ready",
        );
        const config = configWith({ port: cluster.port }, sync_rate);
        for (const round of [1, 2]) {
          const taken = await Promise.all(
            [0, 1, 2, 3].map((n) => counters.incrementBelowLimit([named(`n${n}`)], config)),
          );
          assert.deepEqual(
            taken.map(({ counts }) => counts[0]),
            [round, round, round, round],
          );
        }
        await counters.close();
        assert.equal(await client.dbsize(), 4);
        for (const key of await client.keys("*")) assert.equal(await client.get(key), "2");
      } finally {
        await counters.close();
        client.disconnect();
        await cluster.stop();
      }
    });
  }
});

describe("Redis counters that nodes share", () => {
  it("together admit exactly as many requests as the limit allows", async () => {
    const nodes = [1, 2, 3].map(() => new RedisCounters({ warn: silent, connect }));
    const one = counter({ limit: 100 });
    const taken = await Promise.all(
      Array.from({ length: 900 }, (_, index) => nodes[index % 3]?.incrementBelowLimit([one], configWith())),
    );
    assert.equal(taken.filter((each) => each?.admitted).length, 100);
    await Promise.all(nodes.map((node) => node.close()));
  });

  it("that have a sync_rate include the counts of the other nodes after a synchronization", async () => {
    const [here, there] = [new RedisCounters({ warn: silent, connect }), new RedisCounters({ warn: silent, connect })];
    const one = counter({ limit: 1000 });
    const config = configWith({}, 0.05);
    for (let sent = 0; sent < 10; sent += 1) await here.incrementBelowLimit([one], config);
    await waitForCounters(
      async () => ((await there.incrementBelowLimit([one], config)).counts[0] ?? 0) > 10,
      "the ten requests of the other node are counted",
    );
    await Promise.all([here.close(), there.close()]);
  });

  it("accept new counters of one plugin instance while they refuse new counters of another instance that has exceeded its share", async () => {
    const counters = new SyncedCounters({
      client: async () => admin,
      interval: 3_600_000,
      now: Date.now,
      capacity: 100,
    });
    const [kept, ...late] = Array.from({ length: 5 }, () => counter({ scope: "kept" }));
    assert.ok(kept);
    await counters.incrementBelowLimit([kept]);
    const flood = Array.from({ length: 99 }, () => counter({ scope: "flood" }));
    for (const one of flood) await counters.incrementBelowLimit([one]);
    await assert.rejects(counters.incrementBelowLimit([counter({ scope: "flood" })]), /too many counters/);
    for (const one of late) assert.deepEqual((await counters.incrementBelowLimit([one])).counts, [1]);
    assert.deepEqual((await counters.incrementBelowLimit([kept])).counts, [2]);
    assert.deepEqual((await counters.incrementBelowLimit(flood.slice(-1))).counts, [2]);
    await counters.close();
  });

  it("add their counts to Redis before they close", async () => {
    const node = new RedisCounters({ warn: silent, connect });
    const one = counter();
    await node.incrementBelowLimit([one], configWith({}, 3600));
    await node.incrementBelowLimit([one], configWith({}, 3600));
    await node.close();
    const next = new RedisCounters({ warn: silent, connect });
    assert.deepEqual(await next.incrementBelowLimit([one], configWith()), { admitted: true, counts: [3] });
    await next.close();
  });
});

describe("connections to Redis", () => {
  it("are opened on first use, shared by equal configs, and closed at the end", async () => {
    const counters = new RedisCounters({ warn: silent, connect });
    await waitForCounters(async () => (await connections()) === 0, "the other tests' connections are gone");
    await Promise.all([1, 2, 3].map(() => counters.incrementBelowLimit([counter()], configWith())));
    assert.equal(await connections(), 1);
    await counters.incrementBelowLimit([counter()], configWith({ database: 1 }));
    assert.equal(await connections(), 2);
    await counters.close();
    await waitForCounters(async () => (await connections()) === 0, "no connection is left");
  });

  it("are closed while they are not used, and opened again for the next request", async () => {
    const counters = new RedisCounters({ warn: silent, connect, idle: 30 });
    await counters.incrementBelowLimit([counter()], configWith());
    await waitForCounters(async () => (await connections()) === 0, "the idle connection is closed");
    assert.equal(counters.connections, 0);
    assert.equal((await counters.incrementBelowLimit([counter()], configWith())).admitted, true);
    await counters.close();
  });

  it("make counting fail while the server is unreachable and succeed when it is back, with one warning for each change", async () => {
    const warnings: string[] = [];
    const counters = new RedisCounters({ connect, warn: (message) => void warnings.push(message) });
    const config = configWith();
    await counters.incrementBelowLimit([counter()], config);
    await redis.stop();
    await waitForCounters(async () => warnings.length === 1, "the loss is reported");
    await assert.rejects(Promise.resolve(counters.incrementBelowLimit([counter()], config)));
    await redis.restart();
    await waitForCounters(async () => warnings.length === 2, "the return is reported");
    assert.equal((await counters.incrementBelowLimit([counter()], config)).admitted, true);
    assert.deepEqual(warnings, [
      "counters of plugins, such as those of rate limits, cannot be used: Redis cannot be reached",
      "counters of plugins can be used again: Redis is back",
    ]);
    await counters.close();
  });

  const unreachable: readonly [string, () => CounterOptions][] = [
    ["nothing listens", () => configWith({ port: 1 })],
    ["the password is wrong", () => configWith({ username: "nobody", password: "wrong-secret" })],
    ["a sync_rate is set and nothing listens", () => configWith({ port: 1 }, 1)],
    ["no host is set", () => configWith({ host: null })],
  ];
  for (const [what, config] of unreachable) {
    it(`make counting fail when ${what}, with no secret in the warning`, async () => {
      const logged: [string, Facts][] = [];
      const counters = new RedisCounters({ connect, warn: (...warning) => void logged.push(warning) });
      await assert.rejects(Promise.resolve(counters.incrementBelowLimit([counter()], config())));
      await assert.rejects(Promise.resolve(counters.incrementBelowLimit([counter()], config())));
      assert.ok(logged.length <= 1, "one warning for the loss, not one for every request");
      assert.ok(!JSON.stringify(logged).includes("wrong-secret"));
      await counters.close();
    });
  }
});

describe("a Redis at an address that configuration must not reach", () => {
  const hosts = ["127.0.0.1", "localhost", "0.0.0.0", "127.1", "2130706433", "0x7f.1", "::ffff:127.0.0.1"];
  for (const host of hosts) {
    it(`is refused as ${host}, and one warning names the setting that allows it`, async () => {
      const logged: [string, Facts][] = [];
      const counters = new RedisCounters({ connect: connectTo(), warn: (...warning) => void logged.push(warning) });
      await waitForCounters(async () => (await connections()) === 0, "the other tests' connections are gone");
      await assert.rejects(Promise.resolve(counters.incrementBelowLimit([counter()], configWith({ host }))));
      await assert.rejects(Promise.resolve(counters.incrementBelowLimit([counter()], configWith({ host }))));
      assert.equal(await connections(), 0);
      assert.equal(logged.length, 1);
      const [message, facts] = logged[0] ?? [];
      assert.match(message ?? "", /^counters of plugins, such as those of rate limits, cannot be used: Redis/);
      assert.match(String(facts?.reason), /no entry of SLUICE_ALLOWED_UPSTREAMS allows/);
      await counters.close();
    });
  }

  for (const [host, entry] of [
    ["127.0.0.1", () => `127.0.0.1:${redis.port}`],
    ["localhost", () => "127.0.0.0/8"],
  ] as const) {
    it(`is accepted as ${host} when the setting allows it`, async () => {
      const counters = new RedisCounters({ connect: connectTo(entry()), warn: silent });
      assert.equal((await counters.incrementBelowLimit([counter()], configWith({ host }))).admitted, true);
      await counters.close();
    });
  }
});
