import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { CACHEABLE_OPERATION, CACHEABLE_RESULT, PURGE_NAMES, RESULT_NAMES } from "@sluice/plugin-sdk";
import { Redis } from "ioredis";
import { RedisCounters } from "../../../gateway/src/counters/redis/redis-counters.ts";
import { connectBehind } from "../../../gateway/src/outbound/connect.ts";
import { createGuard } from "../../../gateway/src/outbound/guard.ts";
import { createCaches } from "../../../gateway/src/plugin-caches/create-caches.ts";
import { freePort, waitFor } from "../../../tools/process/index.ts";
import { startRedis } from "../../../tools/programs/servers/redis.ts";
import { fakeContext, fakeExchange, pluginInstance, ThreadCounters } from "../../plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../plugins/filled-configs.ts";
import { cachesSuite, textCodec } from "./suite.ts";

let redis: Awaited<ReturnType<typeof startRedis>>;
let admin: Redis;
/** A Redis Cluster of one node, which refuses commands and scripts with keys of several slots. */
let cluster: Awaited<ReturnType<typeof startRedis>>;

before(async () => {
  redis = await startRedis();
  admin = new Redis(redis.url);
  // Without a listener, ioredis prints the errors of the connection.
  admin.on("error", () => {});
  cluster = await startRedis("--cluster-enabled", "yes", "--cluster-port", String(await freePort()));
  const client = new Redis(cluster.url);
  await client.cluster("ADDSLOTSRANGE", 0, 16383);
  const isReady = async () => /cluster_state:ok/.test(String(await client.cluster("INFO")));
  await waitFor(isReady, { what: "the cluster to be ready" });
  client.disconnect();
});
after(async () => {
  admin.disconnect();
  await redis.stop();
  await cluster.stop();
});

const configWith = (members: object = {}, { port } = redis) =>
  withConfigDefaults("proxy-cache", { strategy: "redis", redis: { host: "127.0.0.1", port }, ...members });

const open = (lines: string[] = []) =>
  createCaches({
    memory: 0,
    warn: (message) => void lines.push(message),
    connect: connectBehind(createGuard({ allowedUpstreams: ["127.0.0.0/8"], ownListeners: [] })),
  });

const optionsOf = (generation: string, server = redis) =>
  ({ strategy: "redis", redis: configWith({}, server).redis, generation, codec: textCodec }) as const;

cachesSuite("caches in Redis", async () => {
  await admin.flushall();
  return {
    caches: open(),
    options: optionsOf("1"),
    // Redis has no clock that a test could set.
    async advance() {
      await waitFor(async () => (await admin.keys("*:k")).length === 0, { what: "Redis to expire the value" });
    },
  };
});

it("a cache in Redis is shared by nodes with the same generation, and is cleared for all generations", async () => {
  await admin.flushall();
  const [one, other] = [open(), open()];
  try {
    await one.open("a", optionsOf("1")).set("k", "1", 60_000);
    assert.equal(await other.open("a", optionsOf("1")).get("k"), "1");
    assert.equal(await other.open("a", optionsOf("2")).get("k"), undefined);
    await other.open("a", optionsOf("2")).clear();
    assert.equal(await admin.dbsize(), 0);
  } finally {
    one.close();
    other.close();
  }
});

it("a cache in a Redis Cluster is cleared although its values are in different slots", async () => {
  const caches = open();
  try {
    const cache = caches.open("a", optionsOf("1", cluster));
    const keys = ["k", "l", "m"];
    for (const key of keys) await cache.set(key, "1", 60_000);
    await cache.clear();
    for (const key of keys) assert.equal(await cache.get(key), undefined);
  } finally {
    caches.close();
  }
});

it("a value in Redis that the codec cannot decode counts as absent", async () => {
  const caches = open();
  try {
    const cache = caches.open("a", optionsOf("1"));
    await cache.set("k", "malformed", 60_000);
    assert.equal(await cache.get("k"), undefined);
  } finally {
    caches.close();
  }
});

/**
 * Sends one request through an instance of proxy-cache. Returns X-Cache-Status, and the body that the plugin took from
 * the cache; undefined: the request was forwarded.
 */
async function serve(plugin: ReturnType<typeof pluginInstance>, vary?: string) {
  const exchange = fakeExchange({
    headers: { "x-a": "1" },
    responseHeaders: { "Content-Type": "text/plain", ...(vary !== undefined && { Vary: vary }) },
  });
  const answer = await plugin.access?.(exchange);
  if (answer === undefined) {
    plugin.responseHeaders?.(exchange);
    const filter = plugin.responseBody?.(exchange);
    if (filter && "observe" in filter) {
      filter.observe(Buffer.from([0xff, 0x00]));
      filter.complete();
    }
  }
  return [exchange.responseHeaders.get("x-cache-status"), answer?.body];
}

for (const vary of [undefined, "X-A"]) {
  it(`proxy-cache with strategy redis keeps responses${vary === undefined ? "" : " with Vary"} in Redis`, async () => {
    await admin.flushall();
    const caches = open();
    try {
      const plugin = pluginInstance("proxy-cache", configWith(), fakeContext({ caches }));
      assert.deepEqual(await serve(plugin, vary), ["Miss", undefined]);
      const stored = vary === undefined ? 1 : 2;
      await waitFor(async () => (await admin.dbsize()) === stored, { what: "the response in Redis" });
      assert.deepEqual(await serve(plugin, vary), ["Hit", Buffer.from([0xff, 0x00])]);
      for (const key of await admin.keys("*")) assert.ok((await admin.pttl(key)) > 0);
    } finally {
      caches.close();
    }
  });
}

for (const [where, serverOf] of [
  ["Redis", () => redis],
  ["a Redis Cluster", () => cluster],
] as const)
  it(`proxy-cache with ${where} holds the response to a mutation of GraphQL until its purge has reached all nodes, and no other response`, async () => {
    await admin.flushall();
    const connect = connectBehind(createGuard({ allowedUpstreams: ["127.0.0.0/8"], ownListeners: [] }));
    const nodes = [1, 2].map(() => {
      const caches = open();
      const counters = new RedisCounters({ warn() {}, connect, now: Date.now });
      const plugin = pluginInstance(
        "proxy-cache",
        configWith({}, serverOf()),
        fakeContext({ caches, counters, now: Date.now }),
      );
      return { caches, counters, plugin };
    });
    /** The X-Cache-Status of an operation that may contain users, or changes them or the objects with these names. */
    async function send({ plugin }: (typeof nodes)[number], isQuery: boolean, names = "User,User!"): Promise<unknown> {
      const exchange = fakeExchange({
        responseHeaders: { "Content-Type": "text/plain" },
        attempts: [{ started: 1, host: "10.0.0.1", port: 80, failed: false }],
      });
      exchange.shared.set(CACHEABLE_OPERATION, isQuery).set(CACHEABLE_RESULT, true);
      exchange.shared.set(PURGE_NAMES, isQuery ? "User" : names).set(RESULT_NAMES, "User!,User#1");
      if ((await plugin.access?.(exchange)) === undefined) {
        assert.equal(plugin.holds?.(exchange), !isQuery);
        if (!isQuery)
          await plugin.response?.(exchange, { status: 200, headers: [], hasBody: true, body: async () => null });
        plugin.responseHeaders?.(exchange);
        const filter = plugin.responseBody?.(exchange);
        if (filter && "observe" in filter) filter.complete();
      }
      return exchange.responseHeaders.get("x-cache-status");
    }
    try {
      const [one, other] = nodes;
      assert.ok(one && other);
      assert.equal(await send(one, true), "Miss");
      await waitFor(async () => (await send(other, true)) === "Hit", { what: "the result in Redis" });
      assert.equal(await send(other, false), "Bypass");
      assert.equal(await send(one, true), "Refresh");
      await waitFor(async () => (await send(other, true)) === "Hit", { what: "the new result in Redis" });
      await send(one, false, "User,User#2");
      assert.equal(await send(other, true), "Hit");
      await send(one, false, "User,User#1");
      assert.equal(await send(other, true), "Refresh");
    } finally {
      for (const { caches, counters } of nodes) {
        caches.close();
        await counters.close();
      }
    }
  });

it("proxy-cache holds the response to a mutation only for a moment while Redis does not answer a purge", async () => {
  const caches = open();
  const timers: number[] = [];
  const context = fakeContext({
    caches,
    counters: Object.assign(new ThreadCounters(), { addAmount: () => new Promise<never>(() => {}) }),
    startTimer(milliseconds, _options, action) {
      timers.push(milliseconds);
      setImmediate(action);
      return () => {};
    },
  });
  try {
    const plugin = pluginInstance("proxy-cache", configWith(), context);
    const exchange = fakeExchange({ attempts: [{ started: 1, host: "10.0.0.1", port: 80, failed: false }] });
    exchange.shared.set(CACHEABLE_OPERATION, false).set(PURGE_NAMES, "User");
    await plugin.access?.(exchange);
    const held = { status: 200, headers: [], hasBody: true, body: async () => null };
    assert.equal(await plugin.response?.(exchange, held), undefined);
    assert.deepEqual(timers, [500]);
  } finally {
    caches.close();
  }
});

it("proxy-cache forwards requests while Redis cannot be reached", async () => {
  const lines: string[] = [];
  const caches = open(lines);
  const warn = (_facts: object, message: string) => void lines.push(message);
  const plugin = pluginInstance(
    "proxy-cache",
    withConfigDefaults("proxy-cache", { strategy: "redis", redis: { host: "127.0.0.1", port: 1, timeout: 500 } }),
    fakeContext({ caches, log: { info() {}, warn, error() {} } }),
  );
  try {
    assert.deepEqual(await serve(plugin), ["Bypass", undefined]);
    assert.deepEqual(await serve(plugin), ["Bypass", undefined]);
    // Each problem is logged once, not for every request.
    assert.deepEqual(lines.sort(), [
      "plugins cannot use their caches: Redis cannot be reached",
      "the cache cannot be read, so requests are forwarded",
    ]);
  } finally {
    caches.close();
  }
});
