import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DatabaseUnreachable } from "../../../gateway/src/database/driver.ts";
import { openPostgres, type PostgresOptions } from "../../../gateway/src/database/postgres.ts";
import { freePort, waitFor } from "../../../tools/process/index.ts";
import { type Postgres, startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { describeMigrations } from "./migrations.ts";
import { describeDatabase } from "./suite.ts";

let server: Postgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

function options(more: Partial<PostgresOptions> = {}): PostgresOptions {
  const { hostname: host, port, username: user, password } = new URL(server.url);
  return { host, port: Number(port), user, password, database: "postgres", timeout: 2000, ...more };
}

async function hold() {
  const database = openPostgres(options({ poolSize: 3, timeout: 10_000 }));
  return { database, close: () => database.close() };
}

describeDatabase("Postgres", hold);
describeMigrations("Postgres", hold);

const terminate = `select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = 'sluice' and pid <> pg_backend_pid() and query like $1`;

test("a lost listening connection is opened again, and listeners learn that notifications may be missing", async () => {
  const lost: string[] = [];
  const database = openPostgres(options({ onLost: (reason) => lost.push(reason) }));
  const killer = openPostgres(options());
  try {
    let heard = 0;
    await database.listen("signals", () => void heard++);
    assert.equal((await killer.query(terminate, ["LISTEN%"])).length, 1);
    await waitFor(() => database.failure() !== null || heard > 0, { what: "the lost connection to be detected" });
    await waitFor(() => heard === 1, { what: "the notification after the reconnect" });
    assert.equal(database.failure(), null);
    assert.match(lost.join("\n"), /notifications of changes are interrupted: /);
    await killer.query("select pg_notify('signals', '')");
    await waitFor(() => heard === 2, { what: "a notification on the new connection" });
  } finally {
    await Promise.all([database.close(), killer.close()]);
  }
});

test("a transaction fails when its connection is lost, and the next query uses a new connection", async () => {
  const database = openPostgres(options({ poolSize: 1 }));
  const killer = openPostgres(options());
  try {
    const broken = database.transaction(async (connection) => {
      await connection.query("select 'in the middle'");
      await killer.query(terminate, ["%in the middle%"]);
      await connection.query("select 1");
    });
    await assert.rejects(broken, DatabaseUnreachable);
    assert.deepEqual(await database.query("select 1 as one"), [{ one: 1 }]);
    assert.equal(database.failure(), null);
  } finally {
    await Promise.all([database.close(), killer.close()]);
  }
});

test("a statement that takes longer than the timeout is rejected", async () => {
  const database = openPostgres(options({ timeout: 100 }));
  try {
    await assert.rejects(database.query("select pg_sleep(5)"), /does not answer: .*timeout/);
  } finally {
    await database.close();
  }
});

for (const [what, more, message] of [
  ["the password is wrong", { password: "wrong" }, /password authentication failed/],
  ["it does not exist", { database: "nowhere" }, /database "nowhere" does not exist/],
  ["the server does not support the required TLS", { tls: { verify: true } }, /does not support SSL/],
] as const)
  test(`a database is unreachable if ${what}, and the error gives the reason`, async () => {
    const database = openPostgres(options(more));
    try {
      await assert.rejects(database.query("select 1"), (error) => {
        assert.ok(error instanceof DatabaseUnreachable);
        assert.match(error.message, message);
        assert.match(database.failure() ?? "", message);
        return true;
      });
      await assert.rejects(
        database.listen("a", () => {}),
        DatabaseUnreachable,
      );
    } finally {
      await database.close();
    }
  });

test("a database is unreachable if no server listens", async () => {
  const database = openPostgres(options({ port: await freePort() }));
  try {
    await assert.rejects(database.query("select 1"), /ECONNREFUSED/);
  } finally {
    await database.close();
  }
});
