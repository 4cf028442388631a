import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openPostgres } from "../../../user-api/src/store/postgres.ts";
import { openUserStore } from "../../../user-api/src/store/sql-store.ts";
import { userStoreSuite } from "../../../user-api/src/store/suite.ts";
import { type Postgres, startPostgres } from "../../tools/postgres.ts";

describe("Postgres", () => {
  let server: Postgres;
  const lost: Error[] = [];
  const open = async () => openPostgres({ url: server.url, onLost: (error) => lost.push(error) });

  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.stop());

  userStoreSuite({ name: "a real Postgres", open });

  it("is migrated once when many replicas start at once", async () => {
    const stores = await Promise.all(Array.from({ length: 6 }, async () => openUserStore(await open())));
    const database = await open();
    assert.deepEqual(await database.query("select step from user_api_migrations"), [{ step: 1 }]);
    await Promise.all([database.close(), ...stores.map((store) => store.close())]);
  });

  it("loses its connections without ending the process, and has new ones", async () => {
    const [first, second] = [await open(), await open()];
    await first.query("select 1");
    await second.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name = 'sluice-user-api'",
    );
    while (lost.length === 0) await new Promise((next) => setImmediate(next));
    assert.match(lost[0]?.message ?? "", /terminating connection/);
    assert.equal((await first.query("select 1 as one"))[0]?.one, 1);
    await Promise.all([first.close(), second.close()]);
  });
});
