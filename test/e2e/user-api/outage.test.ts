/** Redis is down for half a minute, which is longer than every retry interval and timeout involved. */
import { afterEach, test } from "node:test";
import { startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { startRedis } from "../../../tools/programs/servers/redis.ts";
import { endReplicas, outliveRedis } from "../../conformance/user-events/replicas.ts";

afterEach(endReplicas);

test("while Redis is down for 30 s, no mutation is lost, and subscribers receive every created user once", async (context) => {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  context.after(() => postgres.stop());
  context.after(() => redis.stop());
  const environment = { SLUICE_USER_API_DATABASE_URL: postgres.url, SLUICE_USER_API_REDIS_URL: redis.url };
  await outliveRedis({ redis, environment }, { seconds: 30 });
});
