/** Tests of the database source: the suite of all sources, and more. Run for Postgres and for the embedded database. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import {
  checkEntity,
  collections,
  type Entities,
  type NodeReport,
  type PluginEndpointCall,
  type Snapshot,
} from "@sluice/model";
import { pino } from "pino";
import type { Database } from "../../../gateway/src/database/driver.ts";
import { bootstrapTables, resetTables } from "../../../gateway/src/database/migrate.ts";
import { readNewestRevision, readNodes } from "../../../gateway/src/database/nodes.ts";
import { createDatabaseSource, type DatabaseSourceOptions } from "../../../gateway/src/sources/database-source.ts";
import { createIntake } from "../../../gateway/src/sources/intake.ts";
import { createRevisionWait } from "../../../gateway/src/stores/database/await-revision.ts";
import { callNodes } from "../../../gateway/src/stores/database/call-nodes.ts";
import { createDatabaseStore } from "../../../gateway/src/stores/database/index.ts";
import type { Write } from "../../../gateway/src/stores/store.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { databasePeersSuite } from "./database-peers.ts";
import { sourceSuite, type TestedSource } from "./suite.ts";

const silent = pino({ level: "silent" });

interface DatabaseKeeper {
  readonly database: Database;
  close(): Promise<void>;
}

const empty = (database: Database) => database.script(`truncate ${collections.join(", ")}, nodes`);

function service(name: string): Entities["services"] {
  const checked = checkEntity("services", { name, host: "up.test" });
  if (checked.violations) throw new Error(JSON.stringify(checked.violations));
  return checked.value;
}

const create = (name: string): Write => ({ op: "create", collection: "services", entity: service(name) });

/** Empties the database, writes the service `first`, and returns a source on it. `offer` writes through a store. */
async function subjectOf(database: Database): Promise<TestedSource> {
  await empty(database);
  const store = createDatabaseStore(database, async () => null);
  const names = async () => {
    const { entities } = await store.list("services", { size: 1000 });
    return entities.map(({ name, id }) => ({ name, id }));
  };
  const offer: TestedSource["offer"] = async (wanted, { broken = false } = {}) => {
    const there = await names();
    const gone = there.filter(({ name }) => !wanted.includes(name ?? ""));
    const fresh = wanted.filter((name) => !there.some((one) => one.name === name));
    const outcome = await store.write([
      ...gone.map(({ id }): Write => ({ op: "remove", collection: "services", by: { id } })),
      ...fresh.map((name): Write => {
        const made = service(name);
        // Only a user with psql would write such an entity.
        return { op: "create", collection: "services", entity: broken ? { ...made, port: -1 } : made };
      }),
    ]);
    assert.deepEqual(outcome.fault, undefined);
  };
  await offer(["first"]);
  return {
    source: createDatabaseSource({
      database,
      log: silent,
      place: () => ({ address: "a", status: null }),
      heartbeat: 50,
    }),
    offer,
    end: async () => undefined,
  };
}

export function describeDatabaseSource(name: string, keep: () => Promise<DatabaseKeeper>): void {
  describe(`the source over ${name}`, () => {
    let keeper: DatabaseKeeper;
    let database: Database;
    before(async () => {
      keeper = await keep();
      database = keeper.database;
    });
    beforeEach(() => empty(database));
    after(() => keeper.close());

    sourceSuite({ name, create: () => subjectOf(database) });
    databasePeersSuite(() => database);

    interface RunningNode {
      readonly served: Snapshot[];
      state(): NodeReport;
      failure(): string | null;
      stop(): Promise<void>;
    }

    async function startNode(address: string, askPlugin?: DatabaseSourceOptions["askPlugin"]): Promise<RunningNode> {
      const served: Snapshot[] = [];
      const source = createDatabaseSource({
        database,
        log: silent,
        place: () => ({ address, status: `http://${address}` }),
        heartbeat: 50,
        ...(askPlugin && { askPlugin }),
      });
      const intake = createIntake({
        node: randomUUID(),
        version: "1",
        serve: (snapshot) => void served.push(snapshot),
      });
      await source.start(intake);
      return { served, state: intake.state, failure: source.failure, stop: source.stop };
    }

    /** Calls `run` with started nodes, and with a function that writes to a store and waits for the nodes. */
    async function withNodes(
      addresses: readonly string[],
      run: (nodes: readonly RunningNode[], write: (...writes: Write[]) => ReturnType<typeof waited>) => Promise<void>,
    ): Promise<void> {
      const wait = createRevisionWait(database);
      const store = createDatabaseStore(database, wait.awaitRevision);
      const nodes = await Promise.all(addresses.map((address) => startNode(address)));
      try {
        await run(nodes, async (...writes) => waited(await store.write(writes)));
      } finally {
        wait.close();
        await Promise.all(nodes.map((node) => node.stop()));
      }
    }

    const waited = async (outcome: Awaited<ReturnType<ReturnType<typeof createDatabaseStore>["write"]>>) => {
      assert.deepEqual(outcome.fault, undefined);
      return outcome.programmed?.(2000);
    };

    test("rows of a newer Sluice are served, and requests that they protect in an unknown way are answered 503", () =>
      withNodes(["a:1"], async ([node], write) => {
        const loggedFaults = () =>
          [...(node?.served.at(-1)?.plugins.values() ?? [])].map(({ name, _sluice }) => [name, _sluice?.unavailable]);
        // A plugin as the admin listener of a newer version would write it.
        const keyAuth = checkEntity("plugins", { name: "key-auth" }).value ?? assert.fail();
        const newer = { ...keyAuth, config: { ...keyAuth.config, identity: "x" } };
        const oauth2 = { ...keyAuth, id: randomUUID(), name: "oauth2", config: {} };
        const begun = await write({ op: "create", collection: "plugins", entity: newer }, create("users"));
        assert.equal(begun?.programmed, true);
        assert.deepEqual(loggedFaults(), [["key-auth", "plugin key-auth: config.identity: unknown field"]]);
        await write({ op: "remove", collection: "plugins", by: { id: newer.id } });
        await write({ op: "create", collection: "plugins", entity: oauth2 });
        assert.match(`${loggedFaults()[0]?.[1]}`, /plugin 'oauth2' not enabled/);
        assert.equal(node?.served.at(-1)?.services.size, 1);
        const late = await startNode("c:3");
        assert.equal(late.state().hash, node?.state().hash, "a node that starts later serves the same document");
        await late.stop();
      }));

    test("a write is served by every node, and the wait for the nodes confirms it", () =>
      withNodes(["a:1", "b:2"], async (nodes, write) => {
        const answer = await write(create("users"));
        for (const { served } of nodes)
          assert.deepEqual([...(served.at(-1)?.services.values() ?? [])], [service("users")]);
        assert.deepEqual(
          { ...answer, revision: 0 },
          { programmed: true, revision: 0, acknowledged: ["a:1", "b:2"], lagging: [], silent: [], problems: [] },
        );
        const hashes = nodes.map(({ state }) => state().hash);
        assert.equal(hashes[0], hashes[1]);
        const removed = await write({ op: "remove", collection: "services", by: { member: "name", value: "users" } });
        assert.equal(removed?.programmed, true);
        for (const { served } of nodes) assert.equal(served.at(-1)?.services.size, 0);
      }));

    const foreignCall = "12121212-1212-4121-8121-121212121212";
    const callOf = (method: "GET" | "DELETE"): PluginEndpointCall => ({
      plugin: "id",
      request: { method, path: ["caches"], query: { text: "\0\ud800" } },
    });

    test("a request to an endpoint of a plugin is answered once by every node, and leaves no row in the database", async () => {
      const calls: PluginEndpointCall[] = [];
      const nodes = await Promise.all(
        [204, 404].map((status, at) =>
          startNode(`n:${at}`, async (call) => {
            calls.push(call);
            return { status };
          }),
        ),
      );
      try {
        // An invalid row that another program wrote does not prevent other calls from being answered.
        await database.query("insert into plugin_calls (id, content, asked_at) values ($1, '{', clock_timestamp())", [
          foreignCall,
        ]);
        const { answered, unanswered } = await callNodes(database, callOf("DELETE"));
        await database.query("delete from plugin_calls where id = $1", [foreignCall]);
        assert.deepEqual(
          answered.map(({ node, response }) => [node, response?.status]),
          [
            ["n:0", 204],
            ["n:1", 404],
          ],
        );
        assert.deepEqual(unanswered, []);
        assert.deepEqual(calls, [callOf("DELETE"), callOf("DELETE")]);
        assert.deepEqual(await database.query("select from plugin_calls"), []);
      } finally {
        await Promise.all(nodes.map((node) => node.stop()));
      }
    });

    test("a node that does not answer a request to an endpoint of a plugin is named, and a GET request does not wait for it", async () => {
      const late = Promise.withResolvers<null>();
      const nodes = [
        await startNode("quick:1", async () => ({ status: 200 })),
        await startNode("slow:2", () => late.promise),
      ];
      try {
        for (const [method, timeout] of [
          ["GET", 60_000],
          ["DELETE", 100],
        ] as const) {
          const { answered, unanswered } = await callNodes(database, callOf(method), timeout);
          assert.deepEqual(answered, [{ node: "quick:1", response: { status: 200 } }], method);
          assert.deepEqual(unanswered, [{ node: "slow:2", reason: "no response" }], method);
        }
      } finally {
        late.resolve(null);
        await Promise.all(nodes.map((node) => node.stop()));
      }
    });

    test("the median time from a write until all nodes confirm it is below 100 ms", () =>
      withNodes(["a:1", "b:2"], async (nodes, write) => {
        await write(create("warm"));
        const times: number[] = [];
        for (let round = 0; round < 9; round++) {
          const began = performance.now();
          await write(create(`s${round}`));
          times.push(performance.now() - began);
        }
        const median = times.sort((a, b) => a - b)[4] ?? Number.POSITIVE_INFINITY;
        assert.ok(median < 100, `${median} ms`);
        for (const { served } of nodes) assert.equal(served.at(-1)?.services.size, 10);
      }));

    test("a change keeps the objects of the unchanged entities", () =>
      withNodes(["a:1"], async ([node], write) => {
        await write(create("users"), create("posts"));
        const before = node?.served.at(-1);
        await write({ op: "replace", collection: "services", entity: { ...service("posts"), port: 81 } });
        const after = node?.served.at(-1);
        const { id } = service("users");
        assert.notEqual(after, before);
        assert.equal(after?.services.get(id), before?.services.get(id));
      }));

    test("a rate-limiting plugin that counts in the database (policy cluster) is served", () =>
      withNodes(["a:1"], async ([node], write) => {
        const raw = { name: "rate-limiting", config: { minute: 5, policy: "cluster" } };
        const { value } = checkEntity("plugins", raw, { database: true });
        assert.ok(value);
        await write({ op: "create", collection: "plugins", entity: value });
        assert.equal(node?.failure(), null);
        assert.equal(node?.served.at(-1)?.plugins.get(value.id)?.config.policy, "cluster");
      }));

    test("a lagging node and a silent node are reported, and a wait continues only for the lagging node", () =>
      withNodes(["a:1"], async (_, write) => {
        const insert = `insert into nodes values ($1, $2, null, '1', 0, clock_timestamp() - $3::interval)`;
        await database.query(insert, [randomUUID(), "slow:1", "-1 hour"]);
        await database.query(insert, [randomUUID(), "dead:1", "3 s"]);
        const wait = createRevisionWait(database);
        const { programmed, acknowledged, lagging, silent: gone } = (await wait.awaitRevision(1, 150)) ?? {};
        wait.close();
        assert.deepEqual(
          { programmed, acknowledged, lagging, gone },
          {
            programmed: false,
            acknowledged: ["a:1"],
            lagging: ["slow:1"],
            gone: ["dead:1"],
          },
        );
        await database.query("delete from nodes where address = 'slow:1'");
        const answer = await write(create("users"));
        assert.deepEqual([answer?.programmed, answer?.silent], [true, ["dead:1"]]);
      }));

    test("without nodes a wait ends at once, and a wait that is closed resolves to null", async () => {
      const alone = createRevisionWait(database);
      assert.equal((await alone.awaitRevision(5, 1000))?.programmed, true);
      alone.close();
      const wait = createRevisionWait(database);
      await database.query("insert into nodes values ($1, 'x', null, '1', 0, clock_timestamp())", [randomUUID()]);
      const waiting = wait.awaitRevision(5, 60_000);
      wait.close();
      assert.equal(await waiting, null);
      assert.equal(await wait.awaitRevision(5, 60_000), null);
    });

    test("a node that was killed is not listed once another node is registered at its address", async () => {
      const insert = `insert into nodes values ($1, 'a:1', null, '1', 0, clock_timestamp() - interval '3 s')`;
      await database.query(insert, [randomUUID()]);
      assert.equal((await readNodes(database)).length, 1);
      const node = await startNode("a:1");
      assert.deepEqual(
        (await readNodes(database)).map(({ id }) => id),
        [node.state().node],
      );
      await node.stop();
    });

    test("a node is registered while it runs", async () => {
      const node = await startNode("a:1");
      const [seen] = await readNodes(database);
      assert.equal(seen?.id, node.state().node);
      assert.deepEqual([seen?.address, seen?.status, seen?.version, seen?.silent], ["a:1", "http://a:1", "1", false]);
      assert.match(seen?.lastSeen ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.equal(seen?.revision, node.state().revision);
      assert.equal(await readNewestRevision(database), node.state().revision);
      await node.stop();
      assert.deepEqual(await readNodes(database), []);
    });

    test("if the change log does not go back far enough, or starts again, all rows are read", () =>
      withNodes(["a:1"], async ([node], write) => {
        await write(create("users"));
        await database.script("update revision set complete_after = number + 1");
        await write(create("posts"));
        assert.equal(node?.served.at(-1)?.services.size, 2);
        await resetTables(database);
        await waitFor(() => node?.failure() !== null, { what: "the error to be reported" });
        assert.match(node?.failure() ?? "", /needs bootstrapping/);
        assert.equal(node?.served.at(-1)?.services.size, 2, "the previous configuration is still served");
        await bootstrapTables(database);
        await waitFor(() => node?.served.at(-1)?.services.size === 0, { what: "the empty database" });
        assert.equal((await write(create("again")))?.programmed, true);
        assert.equal(node?.served.at(-1)?.services.size, 1);
        assert.equal(node?.failure(), null);
      }));

    test("rows written by hand with SQL are served, and invalid rows are reported with their path", () =>
      withNodes(["a:1"], async ([node], write) => {
        await write(create("users"));
        await database.query("update services set port = -1");
        await waitFor(() => node?.failure() !== null, { what: "the error to be reported" });
        assert.match(node?.failure() ?? "", /services\[0\]\.port: value should be between 0 and 65535/);
        await database.query("update services set port = 8080");
        await waitFor(() => node?.failure() === null, { what: "the error to be cleared" });
        assert.equal([...(node?.served.at(-1)?.services.values() ?? [])][0]?.port, 8080);
      }));

    test("before the bootstrap a node does not start, and names the command to run", async () => {
      await resetTables(database);
      try {
        await assert.rejects(startNode("a:1"), /run `sluice migrations bootstrap`/);
      } finally {
        await bootstrapTables(database);
      }
    });
  });
}
