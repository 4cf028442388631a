/** Tests of the database store, in addition to the suite of all stores. Run for Postgres and the embedded database. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { type Collection, collections, type Entities, type Entity } from "@sluice/model";
import type { Database } from "../../../gateway/src/database/driver.ts";
import { bootstrapTables } from "../../../gateway/src/database/migrate.ts";
import { createDatabaseStore } from "../../../gateway/src/stores/database/index.ts";
import { etagOf } from "../../../gateway/src/stores/etag.ts";
import { type Store, StoreUnavailable, type Write } from "../../../gateway/src/stores/store.ts";
import { consumerEntity, credentialEntity, entity, pluginEntity, routeEntity, serviceEntity } from "./entities.ts";
import type { StoreHolder } from "./suite.ts";

export interface DatabaseKeeper {
  /** A connection or a pool to a bootstrapped database. */
  readonly database: Database;
  close(): Promise<void>;
}

const awaitRevision = async () => null;

/** Empties the tables for each test: a new database would take seconds. */
export function holderOf(keeper: () => Pick<DatabaseKeeper, "database">): () => Promise<StoreHolder> {
  return async () => {
    const { database } = keeper();
    await database.script(`truncate ${collections.join(", ")}`);
    return { open: () => createDatabaseStore(database, awaitRevision), close: async () => undefined };
  };
}

const create = <Name extends Collection>(collection: Name, made: Entities[Name]): Write => ({
  op: "create",
  collection,
  entity: made,
});
const replace = (collection: Collection, changed: Entity, etag?: string): Write => ({
  op: "replace",
  collection,
  entity: changed,
  ...(etag !== undefined && { etag }),
});
const remove = (collection: Collection, id: string): Write => ({ op: "remove", collection, by: { id } });

/** Texts that contain SQL or end some kind of quoting. */
const evil = [
  "'; drop table services; --",
  '"; drop table services; --',
  "$1",
  "$$; drop table services; $$",
  "\\'; drop table services; --",
  "%I %L %s",
  "a\\",
];

/**
 * Opens a database for the tests of a suite, and empties its tables before each test.
 *
 * @param use Called with the database and a store over it before the first test.
 */
export function useDatabase(
  keep: () => Promise<DatabaseKeeper>,
  use: (database: Database, store: Store) => void,
): void {
  let keeper: DatabaseKeeper;
  before(async () => {
    keeper = await keep();
    use(keeper.database, createDatabaseStore(keeper.database, awaitRevision));
  });
  beforeEach(() => keeper.database.script(`truncate ${collections.join(", ")}`));
  after(() => keeper.close());
}

/** @param keepAnother Opens a database that no other test uses, and that a test closes. */
export function describeDatabaseStore(name: string, keep: () => Promise<DatabaseKeeper>, keepAnother = keep): void {
  describe(`the store over ${name}`, () => {
    let database: Database;
    let store: Store;
    useDatabase(keep, (opened, over) => {
      database = opened;
      store = over;
    });

    const count = async (collection: Collection) => (await store.list(collection, { size: 1000 })).entities.length;
    const done = async (...writes: readonly Write[]) => {
      const outcome = await store.write(writes);
      assert.deepEqual(outcome.fault, undefined);
      return outcome.effects ?? [];
    };

    test("SQL in any text of an entity is stored as text", async () => {
      for (const text of evil) {
        // Members are set after validation, which would reject these texts.
        const bob = { ...consumerEntity("bob", { id: randomUUID() }), username: text, custom_id: text, tags: [text] };
        const odd = { ...serviceEntity("odd", { id: randomUUID() }), name: text, path: text, host: text };
        const web = { ...routeEntity({}), name: text, paths: [text], headers: { [text]: [text] } };
        const cors = pluginEntity("cors", { service: { id: odd.id } });
        const limit = { ...cors, config: { [text]: [text] }, instance_name: text };
        await done(
          create("consumers", bob),
          create("services", odd),
          create("routes", web),
          create("plugins", limit),
          create("keyauth_credentials", credentialEntity(bob, text)),
        );
        assert.deepEqual(await store.find("services", { member: "name", value: text }), odd);
        assert.deepEqual(await store.find("routes", { member: "name", value: text }), web);
        assert.deepEqual(await store.find("plugins", { member: "instance_name", value: text }), limit);
        assert.deepEqual(await store.find("consumers", { member: "username", value: text }), bob);
        const tagged = await store.list("consumers", { size: 5, tags: { tags: bob.tags, match: "every" } });
        assert.deepEqual(tagged.entities, [bob]);
        await done({ op: "remove", collection: "keyauth_credentials", by: { member: "key", value: text } });
      }
      assert.equal(await count("keyauth_credentials"), 0);
      assert.equal(await count("services"), evil.length);
    });

    test("lookups and removals by invalid values find nothing, and lists accept invalid options without an error", async () => {
      await done(create("services", serviceEntity("users")));
      const lookups = [
        { id: "' or true; --" },
        { member: "name", value: "a\0b" },
        { member: "name", value: "\ud800" },
        { member: 'name" or true --', value: "users" },
        { member: "__proto__", value: "users" },
        { member: "id", value: "users" },
        { member: "name", value: "users", within: { member: "service", id: "x" } },
      ];
      for (const by of lookups) {
        assert.equal(await store.find("services", by), null, JSON.stringify(by));
        assert.deepEqual(await done({ op: "remove", collection: "services", by }), [
          { collection: "services", before: null, after: null, along: [] },
        ]);
      }
      for (const options of [
        { where: { member: "service", id: "x' or true" } },
        { where: { member: "nonsense", id: randomUUID() } },
        { after: "\0" },
        { after: "zzz" },
        { tags: { tags: ["\0"], match: "some" } },
      ] as const)
        assert.deepEqual((await store.list("routes", { size: 5, ...options })).entities, [], JSON.stringify(options));
      assert.equal((await store.list("services", { size: 5, after: "'" })).entities.length, 1);
      assert.equal(await count("services"), 1);
    });

    test("texts that Postgres cannot store are reported as violations with their paths", async () => {
      const bad = { ...serviceEntity("bad"), name: "a\0b", tags: ["fine", "\ud800"] } as Entities["services"];
      const limit = { ...pluginEntity("cors"), config: { "a\0": 1, list: [{ x: "\0" }] } };
      const nul = "must not hold the character U+0000";
      assert.deepEqual(await store.write([create("services", serviceEntity("fine")), create("services", bad)]), {
        index: 1,
        fault: {
          kind: "invalid",
          violations: [
            { path: ["name"], message: nul },
            { path: ["tags", 1], message: "invalid utf-8 character sequence" },
          ],
        },
      });
      assert.deepEqual(await store.write([create("plugins", limit)]), {
        index: 0,
        fault: {
          kind: "invalid",
          violations: [
            { path: ["config", "@entity"], message: "a name must not hold the character U+0000" },
            { path: ["config", "list", 0, "x"], message: nul },
          ],
        },
      });
      assert.equal(await count("services"), 0);
    });

    test("either all writes of a batch are executed, each seeing the effects of earlier writes, or no write is executed", async () => {
      const [a, b] = [serviceEntity("a"), serviceEntity("b")];
      const web = routeEntity({ name: "web", service: { id: a.id } });
      const moved = { ...web, service: { id: b.id } };
      const effects = await done(
        create("services", a),
        create("routes", web),
        create("services", b),
        replace("routes", moved, etagOf(web)),
        remove("services", a.id),
      );
      assert.deepEqual(effects[3], { collection: "routes", before: web, after: moved, along: [] });
      assert.deepEqual(effects[4], { collection: "services", before: a, after: null, along: [] });

      const many = Array.from({ length: 1200 }, (_, index) => create("consumers", consumerEntity(`c${index}`)));
      const outcome = await store.write([...many, create("services", b)]);
      assert.deepEqual(outcome, { fault: { kind: "primary-key", id: b.id }, index: 1200 });
      assert.equal(await count("consumers"), 0);
      assert.equal((await done(...many)).length, 1200);
    });

    test("the dependents of a removed entity are reported, and so is the collection whose entities forbid a removal", async () => {
      const up = entity("upstreams", { name: "up" });
      const target = entity("targets", { target: "a:80", upstream: { id: up.id }, created_at: 1.5, updated_at: 2.25 });
      const users = serviceEntity("users");
      const web = routeEntity({ service: { id: users.id } });
      const cors = pluginEntity("cors", { route: { id: web.id } });
      await done(
        create("upstreams", up),
        create("targets", target),
        create("services", users),
        create("routes", web),
        create("plugins", cors),
      );
      assert.deepEqual((await done(remove("upstreams", up.id)))[0]?.along, [{ collection: "targets", entity: target }]);
      const { fault } = await store.write([remove("services", users.id)]);
      assert.deepEqual(fault, { kind: "referenced", by: "routes", collection: "services" });
      assert.deepEqual((await done(remove("routes", web.id)))[0]?.along, [{ collection: "plugins", entity: cors }]);
    });

    test("a plan reports the effects of a write, and writes nothing", async () => {
      const users = serviceEntity("users");
      await done(create("services", users));
      const changed = { ...users, port: 81 };
      const before = await database.query("select number from revision");
      const writes = [
        replace("services", changed),
        remove("services", users.id),
        create("services", serviceEntity("b")),
      ];
      const { effects, fault, programmed } = await store.write(writes, { plan: true });
      assert.deepEqual([fault, programmed], [undefined, undefined]);
      assert.deepEqual(effects?.[0], { collection: "services", before: users, after: changed, along: [] });
      assert.equal(effects?.length, 3);
      const refused = await store.write([remove("services", users.id), replace("services", users)], { plan: true });
      assert.deepEqual([refused.fault?.kind, !refused.effects && refused.index], ["changed", 1]);
      assert.deepEqual((await store.list("services", { size: 5 })).entities, [users]);
      assert.deepEqual(await database.query("select number from revision"), before);
    });

    test("of several conditional writes with the same ETag, exactly one is executed and the others are rejected", async () => {
      const users = serviceEntity("users");
      await done(create("services", users));
      const etag = etagOf(users);
      const outcomes = await Promise.all(
        [81, 82, 83, 84].map((port) => store.write([replace("services", { ...users, port }, etag)])),
      );
      const faults = outcomes.flatMap(({ fault }) => fault ?? []);
      assert.deepEqual(
        faults.map(({ kind }) => kind),
        ["changed", "changed", "changed"],
      );
      const by = { id: users.id };
      const stale = await store.write([{ op: "remove", collection: "services", by, etag }]);
      assert.deepEqual(stale.fault, { kind: "changed", message: "the service was changed in the meantime" });
      await done(remove("services", users.id));
      const gone = await store.write([replace("services", users)]);
      assert.deepEqual(gone.fault, { kind: "changed", message: "the service was removed in the meantime" });
    });

    test("many conditional writes see the effects of earlier writes, and the first outdated write is reported", async () => {
      const made = Array.from({ length: 30 }, (_, index) => serviceEntity(`s${index}`));
      await done(...made.map((one) => create("services", one)));
      const moved = made.map((one) => ({ ...one, port: 81 }));
      const late = { ...serviceEntity("late"), port: 82 };
      const chain = [
        ...moved.map((one, index) => replace("services", one, etagOf(made[index] ?? one))),
        ...moved.map((one) => replace("services", { ...one, port: 83 }, etagOf(one))),
        create("services", serviceEntity("late")),
        replace("services", late, etagOf(serviceEntity("late"))),
      ];
      const effects = await done(...chain);
      assert.equal(effects.filter(({ after }) => Object(after).port === 83).length, 30);
      const stale = await store.write([
        replace("services", { ...late, port: 1 }, etagOf(late)),
        remove("services", made[0]?.id ?? ""),
        replace("services", moved[1] ?? late, etagOf(made[1] ?? late)),
        create("services", late),
      ]);
      assert.deepEqual([stale.fault?.kind, !stale.effects && stale.index], ["changed", 2]);
      const by = { member: "name", value: "late" };
      const removed = await store.write([{ op: "remove", collection: "services", by, etag: etagOf(late) }]);
      assert.deepEqual(removed.effects?.[0]?.before, late);
      const again = await store.write([{ op: "remove", collection: "services", by, etag: etagOf(late) }]);
      assert.deepEqual(again.fault, { kind: "changed", message: "the service was removed in the meantime" });
    });

    test("an expired credential gives way to a new credential with the same key", async () => {
      const bob = consumerEntity("bob");
      const past = Math.floor(Date.now() / 1000) - 60;
      await done(
        create("consumers", bob),
        create("keyauth_credentials", credentialEntity(bob, "k", { ttl: 5, created_at: past })),
      );
      assert.equal(await store.find("keyauth_credentials", { member: "key", value: "k" }), null);
      await done(create("keyauth_credentials", credentialEntity(bob, "k")));
      assert.equal(await count("keyauth_credentials"), 1);
    });

    test("every transaction that changes an entity has the next revision, and the log names the changed entities", async () => {
      const number = async () => Number((await database.query("select number from revision"))[0]?.number);
      const start = await number();
      const bob = consumerEntity("bob");
      const key = credentialEntity(bob, "k");
      await done(create("consumers", bob), create("keyauth_credentials", key));
      await done(replace("consumers", bob));
      await done(remove("consumers", randomUUID()));
      assert.equal(await number(), start + 1, "a write without a change creates no revision");
      await done(remove("consumers", bob.id));
      const log = await database.query(
        "select revision::int - $1::int as step, collection, id from changes where revision > $1 order by 1, 2",
        [start],
      );
      const [both, each] = [
        { collection: "consumers", id: bob.id },
        { collection: "keyauth_credentials", id: key.id },
      ];
      assert.deepEqual(log, [
        { step: 1, ...both },
        { step: 1, ...each },
        { step: 2, ...both },
        { step: 2, ...each },
      ]);
    });

    test("writes that arrive during a transaction share the next transaction", async () => {
      const number = async () => Number((await database.query("select number from revision"))[0]?.number);
      const start = await number();
      const people = Array.from({ length: 10 }, (_, index) => consumerEntity(`person ${index}`));
      const outcomes = await Promise.all(people.map((one) => store.write([create("consumers", one)])));
      assert.deepEqual(
        outcomes.map(({ effects }) => effects?.map(({ after }) => after)),
        people.map((one) => [one]),
      );
      assert.equal(await number(), start + 2, "the first write alone, the others together");
    });

    test("a refused write does not affect other writes in the same transaction", async () => {
      const all: readonly (readonly Write[])[] = [
        [create("consumers", consumerEntity("alone"))],
        [create("consumers", consumerEntity("twin"))],
        [create("consumers", consumerEntity("twin"))],
        [create("consumers", consumerEntity("lost")), create("consumers", consumerEntity("alone"))],
        [create("services", serviceEntity("other")), remove("consumers", randomUUID())],
      ];
      const outcomes = await Promise.all(all.map((writes) => store.write(writes)));
      assert.deepEqual(
        outcomes.map(({ fault, effects }) => fault?.kind ?? effects?.length),
        [1, 1, "primary-key", "primary-key", 2],
      );
      const { entities } = await store.list("consumers", { size: 10 });
      assert.deepEqual(entities.map(({ username }) => username).sort(), ["alone", "twin"]);
    });

    test("the first and the last page of many rows are both read by an index scan", async () => {
      const body = JSON.stringify({ ...consumerEntity("x"), tags: null });
      await database.query(
        `insert into consumers select (jsonb_populate_record(null::consumers,
           $1::jsonb || jsonb_build_object('id', gen_random_uuid(), 'username', 'c' || n))).*
         from generate_series(1, 20000) as n`,
        [body],
      );
      const plan = async (after: string) => {
        const [row] = await database.query(
          `explain (analyze, format json) select to_json(held)::text as row from consumers as held
             where id > '${after}'::uuid order by id limit 101`,
        );
        return JSON.stringify(row);
      };
      for (const after of ["00000000-0000-0000-0000-000000000000", "fe000000-0000-0000-0000-000000000000"])
        assert.match(await plan(after), /"Node Type":"Index Scan"|"Node Type": ?"Index Scan"/);
    });

    test("a database without tables is reported as unavailable, with the command to run", async () => {
      await database.script("alter schema sluice rename to away");
      try {
        await assert.rejects(store.list("services", { size: 1 }), (error) => {
          assert.ok(error instanceof StoreUnavailable);
          assert.match(error.message, /run `sluice migrations bootstrap`/);
          return true;
        });
        await assert.rejects(store.write([remove("services", randomUUID())]), StoreUnavailable);
      } finally {
        await database.script("alter schema away rename to sluice");
      }
    });

    test("a closed database is unavailable", async () => {
      const closed = await keepAnother();
      const over = createDatabaseStore(closed.database, awaitRevision);
      await closed.close();
      await assert.rejects(over.find("services", { id: randomUUID() }), StoreUnavailable);
      await assert.rejects(over.write([create("services", serviceEntity("users"))]), StoreUnavailable);
    });
  });
}

/** Bootstraps the database and returns it. */
export async function bootstrapDatabase(database: Database): Promise<Database> {
  await bootstrapTables(database);
  return database;
}
