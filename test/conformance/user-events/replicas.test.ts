import assert from "node:assert/strict";
import { once } from "node:events";
import { after, afterEach, before, describe, it } from "node:test";
import { Client } from "pg";
import { WebSocket } from "ws";
import { type Postgres, startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { type Redis, startRedis } from "../../../tools/programs/servers/redis.ts";
import { openLink } from "./link.ts";
import {
  allFollow,
  bySocket,
  byStream,
  createUserOn,
  endReplicas,
  hasAll,
  outliveRedis,
  type Replica,
  startReplica,
  timesOf,
  waitForConnections,
} from "./replicas.ts";

afterEach(endReplicas);

describe("two processes on one database", () => {
  let postgres: Postgres;
  let redis: Redis;
  before(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  });
  after(async () => {
    await redis?.stop();
    await postgres?.stop();
  });

  async function startTwo(through: "redis" | "database"): Promise<readonly [Replica, Replica]> {
    const environment = {
      SLUICE_USER_API_DATABASE_URL: postgres.url,
      ...(through === "redis" ? { SLUICE_USER_API_REDIS_URL: redis.url } : {}),
    };
    const replicas = await Promise.all([startReplica(environment), startReplica(environment)]);
    await waitForConnections(replicas, through, true);
    return replicas;
  }

  for (const through of ["redis", "database"] as const) {
    it(`notify the subscribers of both processes when a user is created on either process, with events through ${through === "redis" ? "Redis" : "the database"}`, async () => {
      const [one, other] = await startTwo(through);
      const followed = [bySocket(one), byStream(one), bySocket(other), byStream(other)];
      await allFollow(one, followed);
      const expected = [`ann${through}`, `bob${through}`];
      await createUserOn(one, `ann${through}`);
      await createUserOn(other, `bob${through}`);
      await hasAll(followed, expected);
      for (const each of followed) assert.deepEqual(timesOf(each, expected), [1, 1]);
    });
  }

  it("lose no mutation while Redis is unreachable, report the outage, and deliver all users when Redis is back", () =>
    outliveRedis(
      {
        redis,
        environment: { SLUICE_USER_API_DATABASE_URL: postgres.url, SLUICE_USER_API_REDIS_URL: redis.url },
      },
      // test/e2e/user-api has a variant with an outage of half a minute.
      { seconds: 0 },
    ));

  it("notify each other of every created user, even if the process that created the users is stopped", async (context) => {
    const environment = { SLUICE_USER_API_DATABASE_URL: postgres.url };
    const one = await startReplica(environment);
    await waitForConnections([one], "database", true);
    const client = new Client(postgres.url);
    await client.connect();
    context.after(() => client.end());
    const { rows } = await client.query(
      "select pid from pg_stat_activity where application_name = 'sluice-user-api events'",
    );
    assert.equal(rows.length, 1);
    const other = await startReplica(environment);
    await waitForConnections([other], "database", true);
    const followed = bySocket(other);
    await allFollow(other, [followed]);
    // The server process of the first replica's connection is suspended, so that messages queue up.
    process.kill(rows[0].pid, "SIGSTOP");
    const names = Array.from({ length: 40 }, (_, n) => `last${n}`);
    try {
      await Promise.all(names.map((name) => createUserOn(one, name)));
      one.process.signal("SIGTERM");
      await one.process.waitForOutput(/SIGTERM: shutting down/);
    } finally {
      process.kill(rows[0].pid, "SIGCONT");
    }
    assert.equal((await one.process.ended()).code, 0);
    await hasAll([followed], names);
    assert.deepEqual(
      timesOf(followed, names),
      names.map(() => 1),
    );
  });

  it("exit at the drain timeout although the database no longer answers", { timeout: 30_000 }, async (context) => {
    const address = new URL(postgres.url);
    const link = await openLink(Number(address.port));
    context.after(() => link.cut());
    address.port = String(link.port);
    const drain = { SLUICE_USER_API_DRAIN_TIMEOUT: "1s" };
    const replica = await startReplica({ SLUICE_USER_API_DATABASE_URL: address.href, ...drain });
    await waitForConnections([replica], "database", true);
    link.freeze();
    const asked = createUserOn(replica, "ann").catch(() => undefined);
    replica.process.signal("SIGTERM");
    assert.deepEqual(await replica.process.ended(), { code: 1, signal: null });
    assert.match(replica.process.output(), /shutdown did not finish in time/);
    await asked;
  });

  it("let a client continue at the other process when one process is stopped", async (context) => {
    const [one, other] = await startTwo("database");
    const socket = new WebSocket(`${one.url}/graphql`.replace("http", "ws"), "graphql-transport-ws");
    context.after(() => socket.terminate());
    await once(socket, "open");
    const closed = once(socket, "close");
    one.process.signal("SIGTERM");
    assert.equal((await closed)[0], 1001);
    assert.equal((await one.process.ended()).code, 0);
    const followed = bySocket(other);
    await allFollow(other, [followed]);
  });
});
