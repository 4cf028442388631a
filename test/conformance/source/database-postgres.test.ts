import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { pino } from "pino";
import { bootstrapTables } from "../../../gateway/src/database/migrate.ts";
import { openPostgres } from "../../../gateway/src/database/postgres.ts";
import { createDatabaseSource } from "../../../gateway/src/sources/database-source.ts";
import { createIntake } from "../../../gateway/src/sources/intake.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { type Postgres, startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { describeDatabaseSource } from "./database.ts";

let server: Postgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

function open({ url } = server) {
  const { hostname: host, port, username: user, password } = new URL(url);
  return openPostgres({ host, port: Number(port), user, password, database: "postgres" });
}

describeDatabaseSource("Postgres", async () => {
  const database = open();
  await bootstrapTables(database);
  return { database, close: () => database.close() };
});

const insert = `insert into consumers (id, created_at, updated_at, username) values (gen_random_uuid(), 0, 0, $1)`;

test("a write during the loss of the listening connection is served once the source listens again", async () => {
  const [database, other] = [open(), open()];
  await bootstrapTables(other);
  const names = new Set<string | null>();
  const intake = createIntake({
    node: randomUUID(),
    version: "1",
    serve: ({ consumers }) => consumers.forEach(({ username }) => void names.add(username)),
  });
  const place = () => ({ address: "a", status: null });
  // The heartbeat is so slow that only the listening connection can report the change in time.
  const source = createDatabaseSource({ database, log: pino({ level: "silent" }), place, heartbeat: 3_600_000 });
  try {
    await source.start(intake);
    await other.transaction(async (connection) => {
      await connection.query(insert, ["bob"]);
      await connection.query("select pg_terminate_backend(pid) from pg_stat_activity where query like 'LISTEN%'");
      // The write is committed and its notification sent before the source listens again.
    });
    await waitFor(() => names.has("bob"), { what: "the writes during the outage to be served" });
  } finally {
    await source.stop();
    await Promise.all([database.close(), other.close()]);
  }
});

test("a node keeps its configuration when the database server becomes unreachable, and reports the error", async () => {
  const own = await startPostgres();
  const database = open(own);
  await bootstrapTables(database);
  await database.query(insert, ["bob"]);
  const intake = createIntake({ node: randomUUID(), version: "1", serve: () => undefined });
  const place = () => ({ address: "a", status: null });
  const source = createDatabaseSource({ database, log: pino({ level: "silent" }), place, heartbeat: 20 });
  try {
    await source.start(intake);
    const { hash } = intake.state();
    assert.equal(source.failure(), null);
    await own.stop();
    await waitFor(() => /does not answer: .*ECONNREFUSED/.test(source.failure() ?? ""), {
      what: "the error to be reported",
    });
    assert.equal(intake.state().hash, hash);
  } finally {
    await source.stop();
    await database.close();
  }
});
