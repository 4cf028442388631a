/** Request rates of clients, which replicas of the user directory count together in a real Redis. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Redis } from "ioredis";
import { waitFor } from "../../../tools/process/index.ts";
import { type Redis as Server, startRedis } from "../../../tools/programs/servers/redis.ts";
import { GATEWAY_SECRET, type TestApp, testApp } from "../../../user-api/src/testing.ts";

const AWAY = "Redis does not count requests; each replica counts its own";
const BACK = "Redis counts requests again";

let clients = 0;
/** An address without earlier requests. */
const newClient = (): string => `10.0.${clients >> 8}.${clients++ & 255}`;

const ask = ({ app }: TestApp, client: string) =>
  app.inject({
    url: "/graphql?query={users{id}}",
    headers: { "x-gateway-secret": GATEWAY_SECRET, "x-real-ip": client },
  });

async function statuses(replica: TestApp, client: string, count: number): Promise<readonly number[]> {
  const all = [];
  for (let n = 0; n < count; n++) all.push((await ask(replica, client)).statusCode);
  return all;
}

/** Waits until replicas share a rate. Returns a client that has exhausted its rate at the first replica. */
async function sharing(first: TestApp, ...others: readonly TestApp[]): Promise<string> {
  let client = "";
  const share = async (): Promise<boolean> => {
    client = newClient();
    await statuses(first, client, 4);
    for (const replica of others) if ((await ask(replica, client)).statusCode !== 429) return false;
    return true;
  };
  await waitFor(share, { timeout: 10_000, what: "replicas to share a rate" });
  return client;
}

const count = ({ logged }: TestApp, msg: string): number => logged.filter((line) => line.msg === msg).length;
const says = (replicas: readonly TestApp[], msg: string) =>
  waitFor(() => replicas.every((replica) => count(replica, msg) === 1), { timeout: 10_000, what: msg });

async function pidOf({ url }: Server): Promise<number> {
  const connection = new Redis(url);
  const [, pid] = /^process_id:(\d+)/m.exec(await connection.info("server")) ?? [];
  connection.disconnect();
  assert.ok(pid);
  return Number(pid);
}

describe("the rates of two replicas with one Redis", () => {
  let redis: Server;
  let first: TestApp;
  let second: TestApp;
  const open = () => testApp({ requestsPerMinute: 4, redisUrl: redis.url });

  before(async () => {
    redis = await startRedis();
    [first, second] = await Promise.all([open(), open()]);
  });
  after(async () => {
    for (const replica of [first, second]) await replica?.app.close();
    await redis?.stop();
  });

  it("are counted together", async () => {
    const client = await sharing(first, second);
    const response = await ask(second, client);
    assert.match(response.json().error, /^Too many requests. Retry in \d+ seconds$/);
    assert.ok(Number(response.headers["retry-after"]) <= 60);
  });

  it("are counted by each replica while Redis hangs, which delays a few requests, and together once Redis continues", async () => {
    const used = await sharing(first, second);
    const client = newClient();
    const pid = await pidOf(redis);
    process.kill(pid, "SIGSTOP");
    try {
      assert.deepEqual(await statuses(first, client, 1), [200], "the delayed request");
      const began = performance.now();
      assert.deepEqual(await statuses(first, client, 5), [200, 200, 200, 429, 429]);
      for (let n = 0; n < 100; n++) await ask(first, client);
      const took = performance.now() - began;
      // At most three of these requests were delayed, by 500 ms each.
      assert.ok(took < 2_000, `${took} ms`);
      await says([first], AWAY);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await sharing(second, first);
    await says([first], BACK);
    // Neither replica has counted requests of this client by itself, so both responses follow Redis' count.
    for (const replica of [first, second]) assert.deepEqual(await statuses(replica, used, 1), [429]);
  });

  it("are counted by each replica while Redis answers with errors, which is reported once, and together afterwards", async (context) => {
    const replica = await open();
    context.after(() => replica.app.close());
    const used = await sharing(first, replica);
    const admin = new Redis(redis.url);
    context.after(() => admin.disconnect());
    await admin.config("SET", "maxmemory", "1");
    assert.deepEqual(await statuses(replica, newClient(), 5), [200, 200, 200, 200, 429]);
    await says([replica], AWAY);
    // The replica reconnects, but this does not show that Redis counts again.
    const before = Number((await admin.info("stats")).match(/total_connections_received:(\d+)/)?.[1]);
    await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    const reconnected = async () => {
      const now = Number((await admin.info("stats")).match(/total_connections_received:(\d+)/)?.[1]);
      return now > before && (await statuses(replica, newClient(), 1))[0] === 200;
    };
    await waitFor(reconnected, { timeout: 10_000, what: "a connection" });
    assert.equal(count(replica, BACK), 0);
    await admin.config("SET", "maxmemory", "0");
    await sharing(first, replica);
    assert.deepEqual(await statuses(replica, used, 1), [429]);
    await says([replica], BACK);
    await says([replica], AWAY);
  });

  it("are counted by each replica while Redis is unreachable, which is reported once, and together afterwards", async (context) => {
    const [one, other] = await Promise.all([open(), open()]);
    context.after(() => Promise.all([one, other].map(({ app }) => app.close())));
    await sharing(one, other);
    await redis.stop();
    await says([one, other], AWAY);
    const client = newClient();
    for (const replica of [one, other]) {
      assert.deepEqual(await statuses(replica, client, 6), [200, 200, 200, 200, 429, 429]);
    }
    await redis.restart();
    await sharing(one, other);
    await says([one, other], BACK);
    await says([one, other], AWAY);
  });

  it("cause no warning when a replica closes", async (context) => {
    const third = await open();
    context.after(() => third.app.close());
    await sharing(first, third);
    await third.app.close();
    assert.deepEqual(
      third.logged.filter(({ level }) => Number(level) > 30),
      [],
    );
  });
});
