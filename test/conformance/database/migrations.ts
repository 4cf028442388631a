/** Tests of the migrations for each database. Run by postgres.test.ts and embedded.test.ts. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import { checkEntity, collections, entities } from "@sluice/model";
import type { Database } from "../../../gateway/src/database/driver.ts";
import {
  bootstrapTables,
  finishUpgrade,
  readMigrationState,
  resetTables,
  upgradeTables,
} from "../../../gateway/src/database/migrate.ts";
import { type Migration, migrations } from "../../../gateway/src/database/migrations/index.ts";
import { readNodes, sendHeartbeat } from "../../../gateway/src/database/nodes.ts";
import { readChanges } from "../../../gateway/src/database/read-changes.ts";
import { createDatabaseStore } from "../../../gateway/src/stores/database/index.ts";
import { deleteOldRevisions } from "../../../gateway/src/stores/database/revisions.ts";
import { defaultRevisionLimits } from "../../../gateway/src/stores/revisions/revisions.ts";
import type { DatabaseHolder } from "./suite.ts";

const base: Migration = { name: "000_old", up: "create table old (a int)" };
const change: Migration = {
  name: "001_new",
  up: "alter table old add column b int",
  finish: "alter table old drop column a",
};
const later: Migration = { name: "002_later", up: "alter table old add column c int" };

export function describeMigrations(name: string, hold: () => Promise<DatabaseHolder>): void {
  describe(`migrations of ${name}`, () => {
    let holder: DatabaseHolder;
    let database: Database;
    before(async () => {
      holder = await hold();
      database = holder.database;
      await database.script("drop schema if exists sluice cascade");
    });
    afterEach(() => database.script("drop schema if exists sluice cascade"));
    after(() => holder.close());

    const columns = async (table: string) =>
      (
        await database.query(
          `select column_name as name from information_schema.columns
             where table_schema = 'sluice' and table_name = $1 order by ordinal_position`,
          [table],
        )
      ).map((row) => row.name);

    test("an empty database is bootstrapped once, and a second bootstrap runs no migration", async () => {
      assert.deepEqual(await readMigrationState(database), {
        needsBootstrap: true,
        executed: [],
        pending: [],
        available: migrations.map((migration) => migration.name),
      });
      const names = migrations.map((migration) => migration.name);
      assert.deepEqual((await bootstrapTables(database)).ran, names);
      assert.deepEqual((await bootstrapTables(database)).ran, []);
      const expected = { needsBootstrap: false, executed: names, pending: [], available: [] };
      assert.deepEqual(await readMigrationState(database), expected);
    });

    test("of three concurrent bootstraps only one runs the migrations", async () => {
      const results = await Promise.all([
        bootstrapTables(database),
        bootstrapTables(database),
        bootstrapTables(database),
      ]);
      assert.deepEqual(results.map(({ ran }) => ran?.length).sort(), [0, 0, migrations.length]);
    });

    test("a bootstrap that fails leaves no table behind", async () => {
      await assert.rejects(bootstrapTables(database, [base, { name: "001_bad", up: "create nonsense" }]));
      assert.equal((await readMigrationState(database)).needsBootstrap, true);
      assert.deepEqual(await columns("old"), []);
    });

    test("every member of every entity has its column, and every column has its member", async () => {
      await bootstrapTables(database);
      for (const collection of collections) {
        const expected = Object.entries(entities[collection].schema.properties ?? {}).map(([member, { reference }]) =>
          reference === undefined ? member : `${member}_id`,
        );
        assert.deepEqual((await columns(collection)).sort(), expected.sort(), collection);
      }
    });

    test("the changes of every collection are logged", async () => {
      await bootstrapTables(database);
      const rows = await database.query(
        `select relname as collection, array_agg(tgname::text order by tgname) as names from pg_trigger
           join pg_class on pg_class.oid = tgrelid where tgname like 'log\\_%' group by relname order by relname`,
      );
      const names = ["log_deleted", "log_inserted", "log_truncate", "log_updated"];
      assert.deepEqual(
        rows,
        collections.toSorted().map((collection) => ({ collection, names })),
      );
    });

    test("up and finish run the two phases of a migration, and up is refused while a finish is pending", async () => {
      assert.equal((await upgradeTables(database, [base])).fault, "needs bootstrap");
      assert.equal((await finishUpgrade(database, [base])).fault, "needs bootstrap");
      await bootstrapTables(database, [base]);
      assert.deepEqual((await readMigrationState(database, [base, change])).available, ["001_new"]);

      const first = await upgradeTables(database, [base, change]);
      assert.deepEqual([first.ran, first.state?.pending], [["001_new"], ["001_new"]]);
      assert.deepEqual(await columns("old"), ["a", "b"]);
      assert.equal((await upgradeTables(database, [base, change, later])).fault, "pending");

      const second = await finishUpgrade(database, [base, change, later]);
      assert.deepEqual([second.ran, second.state?.available], [["001_new"], ["002_later"]]);
      assert.deepEqual(await columns("old"), ["b"]);
      assert.deepEqual((await finishUpgrade(database, [base, change])).ran, []);
      assert.deepEqual((await upgradeTables(database, [base, change, later])).state?.pending, []);
      assert.deepEqual(await columns("old"), ["b", "c"]);
    });

    test("a bootstrap runs both phases of each migration", async () => {
      await bootstrapTables(database, [base, change]);
      assert.deepEqual(await columns("old"), ["b"]);
      assert.deepEqual((await readMigrationState(database, [base, change])).pending, []);
    });

    test("a reset drops all objects of Sluice and no other objects, and the database can be bootstrapped again", async () => {
      assert.equal(await resetTables(database), false);
      await bootstrapTables(database);
      await database.script("create table theirs (a int)");
      assert.equal(await resetTables(database), true);
      const left = await database.query(
        `select relname as name from pg_class where relnamespace = 'sluice'::regnamespace
           union all select proname from pg_proc where pronamespace = 'sluice'::regnamespace`,
      );
      assert.deepEqual(left, [{ name: "theirs" }]);
      assert.deepEqual((await bootstrapTables(database)).ran?.length, migrations.length);
    });

    test("a reset cannot deadlock with the reads, heartbeats and writes of running nodes", async () => {
      const node = { id: randomUUID(), address: "a", status: null, version: "1", revision: 1 };
      const store = createDatabaseStore(database, async () => null);
      const { revisions = assert.fail() } = store;
      const create = () => {
        const entity = checkEntity("services", { name: randomUUID(), host: "up.test" }).value ?? assert.fail();
        return store.write([{ op: "create", collection: "services", entity }]);
      };
      const failures = new Set<string>();
      let ended = false;
      const repeat = async (use: () => Promise<unknown>) => {
        while (!ended) await use().catch((error: Error) => failures.add(error.message));
      };
      await bootstrapTables(database);
      const users = [
        () => readChanges(database, null),
        () => readChanges(database, { number: 1, epoch: "" }),
        () => sendHeartbeat(database, node, true),
        () => readNodes(database),
        create,
        () => deleteOldRevisions(database, defaultRevisionLimits),
        () => revisions.list({ size: 10 }),
      ].map(repeat);
      try {
        for (let count = 0; count < 3; count += 1) {
          assert.equal(await resetTables(database), true);
          await bootstrapTables(database);
        }
      } finally {
        ended = true;
        await Promise.all(users);
      }
      // Between a reset and the next bootstrap the tables do not exist.
      const expected = /does not exist|needs bootstrapping/;
      assert.deepEqual(
        [...failures].filter((message) => !expected.test(message)),
        [],
      );
    });
  });
}
