/** Tests of revisions in a database, in addition to the suite of all stores. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Database } from "../../../gateway/src/database/driver.ts";
import { rowOf } from "../../../gateway/src/database/rows.ts";
import { createDatabaseStore } from "../../../gateway/src/stores/database/index.ts";
import { deleteOldRevisions } from "../../../gateway/src/stores/database/revisions.ts";
import type { StoreRevision } from "../../../gateway/src/stores/revisions/revisions.ts";
import type { Store } from "../../../gateway/src/stores/store.ts";
import { type DatabaseKeeper, useDatabase } from "./database.ts";
import { consumerEntity, serviceEntity } from "./entities.ts";
import { createWrite } from "./suite.ts";

const DAY = 24 * 60 * 60 * 1000;

export function describeDatabaseRevisions(name: string, keep: () => Promise<DatabaseKeeper>): void {
  describe(`the revisions in ${name}`, () => {
    let database: Database;
    let store: Store;
    useDatabase(keep, (opened, over) => {
      database = opened;
      store = over;
    });

    const listed = async (from = store): Promise<readonly StoreRevision[]> =>
      (await from.revisions?.list({ size: 1000 }))?.revisions ?? assert.fail();
    const newest = async (): Promise<StoreRevision> => (await listed())[0] ?? assert.fail();
    const count = async (table: string): Promise<number> =>
      Number((await database.query(`select count(*)::int as number from ${table}`))[0]?.number);

    test("changes made with SQL, or by processes of the previous Sluice version, are recorded as revisions whose author is the database user", async () => {
      const [one, two] = [consumerEntity("one"), consumerEntity("two")];
      const writing = (entity: typeof one) =>
        JSON.stringify([{ op: "create", collection: "consumers", row: rowOf("consumers", entity) }]);
      await database.query("select write_all($1::jsonb)", [writing(one)]);
      await store.write([createWrite("consumers", two)], { author: "ann" });
      await database.script("update consumers set custom_id = username; delete from consumers where username = 'one'");
      const [sql, ann, previous] = await listed();
      const [user] = await database.query("select 'database user ' || session_user as name");
      assert.deepEqual([sql?.author, ann?.author, previous?.author], [user?.name, "ann", user?.name]);
      assert.deepEqual(sql?.counts, { created: 0, changed: 1, deleted: 1 });
      const { number = 0 } = sql ?? {};
      const { changes } = (await store.revisions?.changes({ after: number - 1, to: number })) ?? {};
      assert.deepEqual(
        changes?.map(({ id, before: was, after: is }) => [id, was !== null, is !== null]).sort(),
        [
          [one.id, true, false],
          [two.id, true, true],
        ].sort(),
      );
    });

    test("writes of different authors that arrive during a transaction are different revisions", async () => {
      const authors = ["ann", "ann", "bob"];
      await Promise.all(
        authors.map((author, index) =>
          store.write([createWrite("consumers", consumerEntity(`p ${index}`))], { author }),
        ),
      );
      const revisions = (await listed()).filter(({ counts }) => counts?.created);
      assert.deepEqual([revisions[0]?.author, revisions[1]?.author], ["bob", "ann"]);
    });

    test("of a revision with more than 16 MiB, and of one that empties a table, only the summary is kept", async () => {
      await store.write([createWrite("services", serviceEntity("users"))], { author: "ann" });
      await database.script("update services set upstream_headers = to_jsonb(repeat('x', 17000000))");
      const large = await newest();
      assert.equal(large.counts, null);
      await store.write([createWrite("consumers", consumerEntity("one"))], { author: "ann" });
      await database.script("truncate services cascade");
      const emptied = await newest();
      assert.equal(emptied.counts, null);
      const { missing } = (await store.revisions?.changes({ after: large.number, to: emptied.number })) ?? {};
      assert.match(missing ?? "", new RegExp(`^the changes of revision ${emptied.number} .* are not kept`));
      assert.equal(await count(`revision_changes where revision in (${large.number}, ${emptied.number})`), 0);
    });

    test("revisions beyond the maximum number or age are neither listed nor stored, except the newest revision", async () => {
      for (const author of ["a", "b", "c", "d"])
        await store.write([createWrite("consumers", consumerEntity(author))], { author });
      const three = createDatabaseStore(database, async () => null, { number: 3, age: DAY });
      assert.deepEqual(
        (await listed(three)).map(({ author }) => author),
        ["d", "c", "b"],
      );
      await deleteOldRevisions(database, { number: 3, age: DAY });
      assert.deepEqual([await count("revisions"), await count("revision_changes")], [3, 3]);
      await database.script("update revisions set made_at = made_at - interval '2 days'");
      const aged = createDatabaseStore(database, async () => null, { number: 3, age: DAY });
      assert.equal((await listed(aged)).length, 1);
      await aged.write([createWrite("consumers", consumerEntity("e"))], { author: "e" });
      while ((await count("revisions")) > 1) await new Promise((resolve) => setImmediate(resolve));
      assert.equal((await newest()).author, "e");
    });
  });
}
