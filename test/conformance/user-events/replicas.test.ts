import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { createClient as createStreamClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import { WebSocket } from "ws";
import { type Process, startProcess, waitFor } from "../../process/index.ts";
import { type Postgres, startPostgres } from "../../tools/postgres.ts";
import { type Redis, startRedis } from "../../tools/redis.ts";

const main = join(import.meta.dirname, "../../../user-api/src/main.ts");

interface Replica {
  readonly process: Process;
  readonly url: string;
}

/** Events of a replica, as a client library gets them, under the users' names. */
interface Followed {
  readonly names: string[];
}

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function startReplica(environment: Record<string, string>): Promise<Replica> {
  const started = await startProcess(process.execPath, [main], {
    name: "user API",
    ready: /GraphQL at /,
    env: { ...process.env, SLUICE_USER_API_LISTEN: "127.0.0.1:0", SLUICE_USER_API_MODE: "development", ...environment },
  });
  ends.push(() => started.stop());
  const url = /GraphQL at (http:\/\/[\d.:]+)/.exec(started.output())?.[1];
  assert.ok(url);
  return { process: started, url };
}

async function create({ url }: Replica, name: string): Promise<void> {
  const query = `mutation { createUser(name: "${name}", email: "${name}@example.org") { name } }`;
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query }),
  });
  assert.deepEqual(await response.json(), { data: { createUser: { name } } });
}

const query = "subscription { userCreated { name } }";
const sinkOf = (names: string[]) => ({
  next: ({ data }: { data?: unknown }) => void names.push((data as { userCreated: { name: string } }).userCreated.name),
  error: () => undefined,
  complete: () => undefined,
});

function bySocket({ url }: Replica): Followed {
  const names: string[] = [];
  const client = createSocketClient({ url: `${url}/graphql`.replace("http", "ws"), webSocketImpl: WebSocket });
  client.subscribe({ query }, sinkOf(names));
  ends.push(() => client.dispose());
  return { names };
}

function byStream({ url }: Replica): Followed {
  const names: string[] = [];
  const client = createStreamClient({ url: `${url}/graphql` });
  client.subscribe({ query }, sinkOf(names));
  ends.push(() => client.dispose());
  return { names };
}

async function health({ url }: Replica, path = "/healthz"): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url + path);
  return { status: response.status, body: await response.json() };
}

const connected = (replicas: readonly Replica[], through: string, expected: boolean) =>
  waitFor(
    async () => {
      const all = await Promise.all(replicas.map((replica) => health(replica)));
      assert.deepEqual(
        all,
        replicas.map(() => ({ status: 200, body: { status: "ok", events: { through, connected: expected } } })),
      );
      return true;
    },
    { what: `events ${expected ? "" : "not "}through ${through}` },
  );

/** Creates users until everybody has heard of one: nobody is told when a subscription has begun. */
async function allFollow(replica: Replica, followed: readonly Followed[]): Promise<void> {
  let number = 0;
  await waitFor(
    async () => {
      number += 1;
      await create(replica, `hello${number}${Math.random().toString(36).slice(2)}`);
      return followed.every(({ names }) => names.length > 0);
    },
    { what: "all to follow" },
  );
}

const hasAll = (followed: readonly Followed[], expected: readonly string[]) =>
  waitFor(() => followed.every(({ names }) => expected.every((name) => names.includes(name))), {
    what: `everybody to hear of ${expected.join(", ")}`,
  });

/** How often each was heard of. */
const timesOf = ({ names }: Followed, expected: readonly string[]) =>
  expected.map((name) => names.filter((one) => one === name).length);

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

  it("lose no mutation while Redis is away, say so, and tell of all when it is back", async () => {
    const [one, other] = await startTwo("redis");
    const followed = [bySocket(one), byStream(other)];
    await allFollow(one, followed);

    await redis.stop();
    await create(one, "during");
    await connected([one, other], "redis", false);
    for (let n = 0; n < 20; n++) await create(n % 2 === 0 ? one : other, `away${n}`);
    for (const replica of [one, other]) assert.equal((await health(replica, "/readyz")).status, 200);

    await redis.restart();
    await connected([one, other], "redis", true);
    await create(one, "after1");
    await create(other, "after2");
    const expected = ["during", ...Array.from({ length: 20 }, (_, n) => `away${n}`), "after1", "after2"];
    await hasAll(followed, expected);
    for (const each of followed) {
      assert.deepEqual(
        timesOf(each, expected),
        expected.map(() => 1),
      );
    }
  });

  it("let a client go on at the other when one of them is stopped", async () => {
    const [one, other] = await startTwo("database");
    const socket = new WebSocket(`${one.url}/graphql`.replace("http", "ws"), "graphql-transport-ws");
    ends.push(() => socket.terminate());
    await once(socket, "open");
    const closed = once(socket, "close");
    one.process.signal("SIGTERM");
    assert.equal((await closed)[0], 1001);
    assert.equal((await one.process.ended()).code, 0);
    const followed = bySocket(other);
    await allFollow(other, [followed]);
  });
});
