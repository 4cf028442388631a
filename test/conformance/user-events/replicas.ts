/** Replicas of the user API as separate processes, and clients that subscribe to them. */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { createClient as createStreamClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import { WebSocket } from "ws";
import { builtProgram } from "../../../tools/build/programs.ts";
import { type Process, startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { withUserDatabase } from "../../../tools/programs/servers/embedded-database.ts";
import type { Redis } from "../../../tools/programs/servers/redis.ts";

const main = await builtProgram("user-api");

export interface Replica {
  readonly process: Process;
  readonly url: string;
}

/** The names of the users in a replica's events, in the order in which a client library received the events. */
export interface FollowedEvents {
  readonly names: string[];
}

/** Clean-up functions of the test, which run in reverse order. */
const ends: (() => unknown)[] = [];

export async function endReplicas(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}

/** Starts a replica. If the environment names no database, its users are in an embedded database of its own. */
export async function startReplica(environment: Record<string, string>): Promise<Replica> {
  const folder = temporaryFolder("replica");
  ends.push(() => folder.remove());
  const data =
    "SLUICE_USER_API_DATABASE_URL" in environment ? {} : { SLUICE_USER_API_DATA: await withUserDatabase(folder.path) };
  const started = await startProcess(main, [], {
    name: "user API",
    ready: /GraphQL at /,
    env: {
      ...process.env,
      SLUICE_USER_API_LISTEN: "127.0.0.1:0",
      SLUICE_USER_API_MODE: "development",
      ...data,
      ...environment,
    },
  });
  ends.push(() => started.stop());
  const url = /GraphQL at (http:\/\/[\d.:]+)/.exec(started.output())?.[1];
  assert.ok(url);
  return { process: started, url };
}

export async function createUserOn({ url }: Replica, name: string): Promise<void> {
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

export function bySocket({ url }: Replica): FollowedEvents {
  const names: string[] = [];
  const client = createSocketClient({ url: `${url}/graphql`.replace("http", "ws"), webSocketImpl: WebSocket });
  client.subscribe({ query }, sinkOf(names));
  ends.push(() => client.dispose());
  return { names };
}

export function byStream({ url }: Replica): FollowedEvents {
  const names: string[] = [];
  const client = createStreamClient({ url: `${url}/graphql` });
  client.subscribe({ query }, sinkOf(names));
  ends.push(() => client.dispose());
  return { names };
}

export async function health({ url }: Replica, path = "/healthz"): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url + path);
  return { status: response.status, body: await response.json() };
}

export const waitForConnections = (replicas: readonly Replica[], through: string, expected: boolean) =>
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

/** Creates users until all clients have received one: the protocols do not acknowledge a subscription. */
export async function allFollow(replica: Replica, followed: readonly FollowedEvents[]): Promise<void> {
  let number = 0;
  await waitFor(
    async () => {
      number += 1;
      await createUserOn(replica, `hello${number}${Math.random().toString(36).slice(2)}`);
      return followed.every(({ names }) => names.length > 0);
    },
    { what: "all clients to subscribe" },
  );
}

export const hasAll = (followed: readonly FollowedEvents[], expected: readonly string[]) =>
  waitFor(
    () => {
      const missing = followed.flatMap(({ names }) => expected.filter((name) => !names.includes(name)));
      if (missing.length > 0) throw new Error(`missing: ${missing.length}, ${missing.slice(0, 5).join(", ")}, ...`);
      return true;
    },
    { what: `every subscriber to receive all ${expected.length}` },
  );

/** How often each of the expected names was received, in the order of `expected`. */
export const timesOf = ({ names }: FollowedEvents, expected: readonly string[]) =>
  expected.map((name) => names.filter((one) => one === name).length);

/** How long `outliveRedis` keeps Redis stopped. */
export interface OutageLog {
  /** The minimum in seconds. The outage also lasts until both replicas notice it and 20 more users are created. */
  readonly seconds: number;
}

/**
 * Stops Redis for a while and asserts about two replicas: no mutation fails, no subscriber misses a user or receives a
 * user twice, and `/healthz` always reports whether the replica is connected to Redis.
 */
export async function outliveRedis(
  { redis, environment }: { readonly redis: Redis; readonly environment: Readonly<Record<string, string>> },
  { seconds }: OutageLog,
): Promise<void> {
  const [one, other] = await Promise.all([startReplica(environment), startReplica(environment)]);
  await waitForConnections([one, other], "redis", true);
  const followed = [bySocket(one), byStream(other)];
  await allFollow(one, followed);

  await redis.stop();
  const ends = performance.now() + seconds * 1000;
  const created: string[] = [];
  const make = async (replica: Replica, name: string) => {
    await createUserOn(replica, name);
    created.push(name);
  };
  await make(one, "during");
  await waitForConnections([one, other], "redis", false);
  for (let n = 0; n < 20 || performance.now() < ends; n++) {
    // After the first 20, users are created at a realistic rate instead of as fast as possible.
    if (n >= 20) await setTimeout(50);
    const replica = n % 2 === 0 ? one : other;
    await make(replica, `away${n}`);
    assert.deepEqual(await health(replica), {
      status: 200,
      body: { status: "ok", events: { through: "redis", connected: false } },
    });
  }
  for (const replica of [one, other]) assert.equal((await health(replica, "/readyz")).status, 200);

  await redis.restart();
  await waitForConnections([one, other], "redis", true);
  await make(one, "after1");
  await make(other, "after2");
  await hasAll(followed, created);
  for (const each of followed) {
    assert.deepEqual(
      timesOf(each, created),
      created.map(() => 1),
    );
  }
}
