import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { builtProgram } from "../../../tools/build/programs.ts";
import { startProcess } from "../../../tools/process/index.ts";
import { type Postgres, startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { openPostgres } from "../../../user-api/src/store/postgres.ts";
import { openUserStore } from "../../../user-api/src/store/sql-store.ts";
import { postQuery, replyCodesOf, testApp } from "../../../user-api/src/testing.ts";
import { openLink } from "../user-events/link.ts";
import { userStoreSuite } from "./suite.ts";

describe("the user store in Postgres", () => {
  let server: Postgres;
  const lost: Error[] = [];
  const open = async () => openPostgres({ url: server.url, onLost: (error) => lost.push(error) });

  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.stop());

  userStoreSuite({ name: "a real Postgres", open });

  it("is migrated only once when many replicas start together", async () => {
    const stores = await Promise.all(Array.from({ length: 6 }, async () => openUserStore(await open())));
    const database = await open();
    assert.deepEqual(await database.query("select step from user_api_migrations order by step"), [
      { step: 1 },
      { step: 2 },
      { step: 3 },
    ]);
    await Promise.all([database.close(), ...stores.map((store) => store.close())]);
  });

  it("is migrated by a command that was started before the server could be reached", async () => {
    const link = await openLink(server.port);
    await link.cut();
    const url = server.url.replace(`:${server.port}/`, `:${link.port}/`);
    const program = await builtProgram("user-api");
    const migrate = await startProcess(program, ["migrate", "30"], {
      name: "migrate",
      env: { SLUICE_USER_API_DATABASE_URL: url },
      ready: /cannot be reached yet/,
    });
    await link.mend();
    assert.deepEqual(await migrate.ended(), { code: 0, signal: null }, migrate.tail());
    await link.cut();
  });

  it("reads 1,000 users with their posts in two statements, and refuses to list more users at once", async () => {
    const real = await open();
    const statements: string[] = [];
    const store = await openUserStore({
      ...real,
      query(text, values) {
        statements.push(text);
        return real.query(text, values);
      },
    });
    const { app } = await testApp({ store });
    await real.query("delete from users");
    await real.query(
      `insert into users (id, name, email, email_key)
       select gen_random_uuid(), 'User ' || n, n || '@example.org', n || '@example.org' from generate_series(1, 1000) n`,
    );
    await real.query("insert into posts (id, user_id, title) select gen_random_uuid(), id, 'Hello' from users");
    // The second and third execution run the compiled plan of the query (execution/plan.ts) in place of graphql-js.
    for (let n = 0; n < 3; n++) {
      statements.length = 0;
      const { data } = await postQuery(app, { query: "{ users { id posts { title } } }" });
      const users = data?.users as readonly { readonly posts: unknown }[];
      assert.equal(users.length, 1_000);
      for (const { posts } of users) assert.deepEqual(posts, [{ title: "Hello" }]);
      assert.equal(statements.length, 2, statements.join("\n"));
    }
    await real.query("insert into users (id, name, email, email_key) values (gen_random_uuid(), 'x', 'x', 'x')");
    const limitExceeded = await postQuery(app, { query: "{ users { id } }" });
    assert.deepEqual(replyCodesOf(limitExceeded), ["LIMIT_EXCEEDED"]);
    const page = await postQuery(app, { query: "{ users(first: 1000) { id } }" });
    assert.equal((page.data?.users as readonly unknown[] | undefined)?.length, 1_000);
    await app.close();
  });

  it("survives the loss of its connections, and opens new ones", async () => {
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

  it("aborts queries that take too long or get no response, and opens new connections when the server responds again", async () => {
    const link = await openLink(server.port);
    const url = server.url.replace(`:${server.port}/`, `:${link.port}/`);
    const database = openPostgres({ url, onLost: () => undefined, milliseconds: 200 });
    await database.query("select 1");
    await assert.rejects(database.query("select pg_sleep(10)"), /statement timeout/);
    await database.query("select 1");
    link.freeze();
    await assert.rejects(database.query("select 1"), /timeout/);
    await link.mend();
    assert.equal((await database.query("select 1 as one"))[0]?.one, 1);
    await database.close();
    await link.cut();
  });
});
