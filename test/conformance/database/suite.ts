/** The conformance suite of databases. Run by postgres.test.ts and embedded.test.ts. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { type Database, DatabaseFault } from "../../../gateway/src/database/driver.ts";
import { waitFor } from "../../../tools/process/index.ts";

export interface DatabaseHolder {
  /** A connection or a pool of connections; `close` closes it. */
  readonly database: Database;
  close(): Promise<void>;
}

export function describeDatabase(name: string, hold: () => Promise<DatabaseHolder>): void {
  describe(`${name} as a database`, () => {
    let holder: DatabaseHolder;
    let database: Database;

    before(async () => {
      holder = await hold();
      database = holder.database;
      await database.script("create schema if not exists sluice; create table things (id int primary key, word text)");
    });
    beforeEach(() => database.script("truncate things"));
    after(() => holder.close());

    const words = async () => (await database.query("select word from things order by id")).map(({ word }) => word);
    const insert = "insert into things values ($1, $2)";

    test("returns numbers, booleans, nulls, texts, arrays and JSON with their types", async () => {
      const json = { a: [1, null, "x"], "b.c": { d: 1.5 } };
      const [row] = await database.query(
        `select 9007199254740991::int8 as big, 5::int4 as small, 1.5::float8 as fraction, true as flag, null as nothing,
           $1::jsonb as structure, $2::text[] as list, $3::text as word, '{"a":1}'::json as plain`,
        [JSON.stringify(json), ["a", 'b"c', "d,e"], "é😀'\\"],
      );
      assert.deepEqual(row, {
        big: 9_007_199_254_740_991,
        small: 5,
        fraction: 1.5,
        flag: true,
        nothing: null,
        structure: json,
        list: ["a", 'b"c', "d,e"],
        word: "é😀'\\",
        plain: { a: 1 },
      });
    });

    test("treats every parameter as a value, whatever it contains", async () => {
      const evil = "'); drop table things; --";
      await database.query(insert, [1, evil]);
      assert.deepEqual(await words(), [evil]);
    });

    test("finds tables in its own schema", async () => {
      const [row] = await database.query("select to_regclass('sluice.things') is not null as there");
      assert.equal(row?.there, true);
    });

    test("reports a rejected statement with its code, table and constraint, and continues", async () => {
      await database.query(insert, [1, "a"]);
      await assert.rejects(database.query(insert, [1, "b"]), (error) => {
        assert.ok(error instanceof DatabaseFault);
        assert.equal(error.facts.code, "23505");
        assert.equal(error.facts.table, "things");
        assert.equal(error.facts.constraint, "things_pkey");
        return true;
      });
      await assert.rejects(database.query("select nonsense"), DatabaseFault);
      assert.deepEqual(await words(), ["a"]);
    });

    test("executes all statements of a script or no statement", async () => {
      const script = "insert into things values (1, 'a'); insert into things values (1, 'b');";
      await assert.rejects(database.script(script), DatabaseFault);
      assert.deepEqual(await words(), []);
    });

    test("keeps all changes of a transaction, or none if its function rejects or a statement is rejected", async () => {
      const result = await database.transaction(async (connection) => {
        await connection.query(insert, [1, "kept"]);
        return "done";
      });
      assert.equal(result, "done");
      const failing = database.transaction(async (connection) => {
        await connection.query(insert, [2, "gone"]);
        throw new Error("changed my mind");
      });
      await assert.rejects(failing, /changed my mind/);
      const refused = database.transaction(async (connection) => {
        await connection.query(insert, [3, "gone too"]);
        await connection.query(insert, [1, "taken"]);
      });
      await assert.rejects(refused, DatabaseFault);
      assert.deepEqual(await words(), ["kept"]);
    });

    test("isolates an open transaction from other queries", async () => {
      const { promise: go, resolve } = Promise.withResolvers<void>();
      const slow = database.transaction(async (connection) => {
        await connection.query(insert, [1, "slow"]);
        await go;
        await connection.query(insert, [2, "slow"]);
      });
      const others = Promise.all([
        database.query("select count(*) as count from things where word = 'slow'"),
        database.transaction((connection) => connection.query(insert, [3, "other"])),
        database.query("select 1"),
      ]);
      resolve();
      await slow;
      const [[counted]] = await others;
      assert.ok([0, 2].includes(Number(counted?.count)), "all changes of the transaction or none");
      assert.deepEqual(await words(), ["slow", "slow", "other"]);
    });

    test("answers many concurrent queries", async () => {
      const rows = await Promise.all(
        Array.from({ length: 50 }, (_, index) => database.query("select $1::int as n", [index])),
      );
      assert.deepEqual(
        rows.map(([row]) => row?.n),
        Array.from({ length: 50 }, (_, index) => index),
      );
    });

    test("passes the notifications of each commit to the channel's listeners until they stop", async () => {
      const heard = { one: 0, two: 0, other: 0 };
      const stop = await database.listen("a_channel", () => void heard.one++);
      await database.listen("a_channel", () => void heard.two++);
      await database.listen("other", () => void heard.other++);
      await database.query("select pg_notify('a_channel', '')");
      await waitFor(() => heard.one === 1 && heard.two === 1, { what: "the first notification" });
      const failing = database.transaction(async (connection) => {
        await connection.query("select pg_notify('a_channel', '')");
        throw new Error("rolled back");
      });
      await assert.rejects(failing);
      stop();
      await database.transaction((connection) => connection.query("select pg_notify('a_channel', '')"));
      await waitFor(() => heard.two === 2, { what: "the second notification" });
      assert.deepEqual(heard, { one: 1, two: 2, other: 0 });
    });

    test("reports no error while it is reachable", () => assert.equal(database.failure(), null));
  });
}
