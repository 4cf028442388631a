import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { DatabaseCounters, type DatabaseQuery } from "../../../gateway/src/counters/database-counters.ts";
import { newAccount } from "../../../gateway/src/counters/fleet/accounts.ts";
import { slidingCounters } from "../../../gateway/src/counters/sliding-windows.ts";
import type { Database } from "../../../gateway/src/database/driver.ts";
import { openEmbedded } from "../../../gateway/src/database/embedded/embedded.ts";
import { bootstrapTables } from "../../../gateway/src/database/migrate.ts";
import { openPostgres } from "../../../gateway/src/database/postgres.ts";
import { LedgerDatabase } from "../../../gateway/src/peers/ledger-database.ts";
import { type Postgres, startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { filledRateLimiting as config } from "../../plugins/filled-configs.ts";
import { slidingCountersSuite } from "./sliding.ts";
import { counter, countersSuite, waitForCounters } from "./suite.ts";

let server: Postgres;
const databases: Record<"embedded" | "postgres", Database | undefined> = { embedded: undefined, postgres: undefined };

before(async () => {
  server = await startPostgres();
  const { hostname: host, port, username: user, password } = new URL(server.url);
  databases.embedded = await openEmbedded();
  databases.postgres = openPostgres({ host, port: Number(port), user, password, database: "postgres" });
  for (const database of Object.values(databases)) if (database) await bootstrapTables(database);
});
after(async () => {
  await Promise.all(Object.values(databases).map((database) => database?.close()));
  await server.stop();
});

function counting(kind: keyof typeof databases): DatabaseCounters {
  const database = databases[kind];
  if (!database) throw new Error("the database is not open yet");
  return new DatabaseCounters({ query: database.query, warn: assert.fail, tidying: 20, patience: 10_000 });
}

for (const kind of ["embedded", "postgres"] as const)
  countersSuite(
    `counters in a database (${kind})`,
    async () => {
      const counters = counting(kind);
      await databases[kind]?.script("truncate counters");
      const held = async () => Number((await databases[kind]?.query("select count(*) from counters"))?.[0]?.count);
      return { counters, config, held };
    },
    { amounts: false },
  );

slidingCountersSuite("counters in a database with sliding windows", async () => {
  const counters = counting("postgres");
  return { counters: { ...slidingCounters(counters), close: () => counters.close() }, config };
});

for (const kind of ["embedded", "postgres"] as const)
  it(`the counters of a fleet that were saved in a database (${kind}) are restored until their windows end`, async () => {
    const query = databases[kind]?.query ?? assert.fail();
    const reported = (name: string, used: number, { expires = Date.now() + 60_000, epoch = 2 } = {}) => ({
      epoch,
      counter: counter({ name, period: "day", windowStart: 0, expires }),
      accounts: [["node", { ...newAccount(1), granted: used, used }]] as const,
      seen: undefined,
      overshoot: 0,
    });
    const [one, other] = [reported("one", 1), reported("other", 2)];
    const ledgers = new LedgerDatabase(query);
    await ledgers.save([one, other, reported("ended", 3, { expires: Date.now() - 15_001 })]);
    const later = reported("one", 4, { epoch: 3 });
    await ledgers.save([later]);
    // A former owner, which could not save in time.
    await ledgers.save([reported("one", 5)]);
    const restored = await new LedgerDatabase(query).load();
    assert.deepEqual(
      restored.map(({ counter: { name }, accounts }) => [name, accounts]),
      [later, other].map(({ counter: { name }, accounts }) => [name, accounts]),
    );
  });

it("two nodes that share counters admit exactly as many requests as the limits allow, without a deadlock", async () => {
  const nodes = [counting("postgres"), counting("postgres")];
  const [one, other] = [counter({ limit: 40 }), counter({ limit: 60 })];
  const taken = await Promise.all(
    Array.from({ length: 120 }, async (_, index) =>
      nodes[index % 2]?.incrementBelowLimit(index % 3 === 0 ? [one, other] : index % 3 === 1 ? [other, one] : [other]),
    ),
  );
  const admitted = taken.filter((each) => each?.admitted);
  const [last] = (await nodes[0]?.incrementBelowLimit([{ ...other, limit: 1000 }]))?.counts ?? [];
  assert.equal(last, admitted.length + 1);
  assert.equal(admitted.length, 60);
  await Promise.all(nodes.map((node) => node.close()));
});

it("a database that does not answer is queried by one request at a time, and reported once", async () => {
  const warnings: string[] = [];
  let [asked, answers] = [0, false];
  const query = (): ReturnType<DatabaseQuery> => {
    asked += 1;
    return answers ? Promise.resolve([{ admitted: true, counts: [1] }]) : new Promise(() => {});
  };
  const counters = new DatabaseCounters({
    query,
    warn: (message) => warnings.push(message),
    patience: 50,
    tidying: 60_000,
  });
  const take = () => counters.incrementBelowLimit([counter()]);
  await assert.rejects(take(), /no answer within 50 ms/);
  const refused = await Promise.allSettled([take(), take(), take()]);
  assert.deepEqual(refused.map(({ status }) => status).join(), "rejected,rejected,rejected");
  assert.ok(asked <= 2, `asked ${asked} times`);
  answers = true;
  await waitForCounters(async () => (await take().catch(() => null))?.admitted === true, "the database is back");
  assert.deepEqual(warnings, [
    "requests cannot be counted for rate limits: the database cannot be reached",
    "requests are counted for rate limits again: the database is back",
  ]);
  await counters.close();
});

it("counters with names of any length and any characters are separate", async () => {
  const counters = counting("postgres");
  for (const name of ["x".repeat(100_000), "x".repeat(100_001), "a\0b", "'; drop table counters; --"])
    assert.deepEqual(await counters.incrementBelowLimit([counter({ name })]), { admitted: true, counts: [1] });
  await counters.close();
});
