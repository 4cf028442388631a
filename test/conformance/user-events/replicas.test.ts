import assert from "node:assert/strict";
import { once } from "node:events";
import { after, afterEach, before, describe, it } from "node:test";
import { WebSocket } from "ws";
import { type Postgres, startPostgres } from "../../tools/postgres.ts";
import { type Redis, startRedis } from "../../tools/redis.ts";
import {
  allFollow,
  bySocket,
  byStream,
  connected,
  create,
  endAll,
  hasAll,
  outliveRedis,
  type Replica,
  startReplica,
  timesOf,
} from "./replicas.ts";

afterEach(endAll);

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
    await connected(replicas, through, true);
    return replicas;
  }

  for (const through of ["redis", "database"] as const) {
    it(`tell subscribers of both of a user who is created on either, through the ${through}`, async () => {
      const [one, other] = await startTwo(through);
      const followed = [bySocket(one), byStream(one), bySocket(other), byStream(other)];
      await allFollow(one, followed);
      const expected = [`ann${through}`, `bob${through}`];
      await create(one, `ann${through}`);
      await create(other, `bob${through}`);
      await hasAll(followed, expected);
      for (const each of followed) assert.deepEqual(timesOf(each, expected), [1, 1]);
    });
  }

  it("lose no mutation while Redis is away, say so, and tell of all when it is back", () =>
    outliveRedis(
      {
        redis,
        environment: { SLUICE_USER_API_DATABASE_URL: postgres.url, SLUICE_USER_API_REDIS_URL: redis.url },
      },
      // Half a minute of it is in test/e2e/user-api.
      { seconds: 0 },
    ));

  it("let a client go on at the other when one of them is stopped", async (context) => {
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
