/** A Postgres server whose certificate is signed by a private authority. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readSettings } from "@sluice/model";
import { openDatabase } from "../../../gateway/src/database/open.ts";
import { databaseSettings } from "../../../gateway/src/settings/database.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { type Postgres, startPostgres } from "../../../tools/programs/servers/postgres.ts";

const folder = temporaryFolder("postgres-tls");
const files = { right: join(folder.path, "right.pem"), wrong: join(folder.path, "wrong.pem") };
let secure: Postgres;
let plain: Postgres;

before(async () => {
  const [right, wrong] = [await makeAuthority("right"), await makeAuthority("wrong")];
  writeFileSync(files.right, right.certificate);
  writeFileSync(files.wrong, wrong.certificate);
  const pair = await right.issue({ name: "postgres", sans: ["localhost"], usage: "server" });
  [secure, plain] = await Promise.all([startPostgres(pair), startPostgres()]);
});
after(async () => {
  await Promise.all([secure.stop(), plain.stop()]);
  folder.remove();
});

interface Row {
  readonly what: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly server?: "plain";
  /** Null: the database can be used. */
  readonly fault: RegExp | null;
}

const rows: readonly Row[] = [
  { what: "is used with SLUICE_PG_SSL_CA", settings: { SLUICE_PG_SSL_CA: files.right }, fault: null },
  { what: "is refused without SLUICE_PG_SSL_CA", settings: {}, fault: /unable to (?:verify|get)|self-signed/ },
  {
    what: "is refused with another authority",
    settings: { SLUICE_PG_SSL_CA: files.wrong },
    fault: /unable to (?:verify|get)|self-signed/,
  },
  {
    what: "is refused under a name that its certificate does not contain",
    settings: { SLUICE_PG_SSL_CA: files.right, SLUICE_PG_HOST: "127.0.0.1" },
    fault: /altnames|Altname|IP/,
  },
  {
    what: "is used without an authority if nothing is verified",
    settings: { SLUICE_PG_SSL_VERIFY: "false" },
    fault: null,
  },
  {
    what: "is refused if it does not accept TLS",
    settings: { SLUICE_PG_SSL_CA: files.right },
    server: "plain",
    fault: /does not support SSL/,
  },
];

for (const { what, settings, server, fault } of rows)
  test(`a Postgres with a certificate of a private authority ${what}`, async () => {
    const { port, username, password } = new URL((server === "plain" ? plain : secure).url);
    const read = readSettings(databaseSettings, {
      SLUICE_DATABASE: "postgres",
      SLUICE_PG_HOST: "localhost",
      SLUICE_PG_PORT: port,
      SLUICE_PG_USER: username,
      SLUICE_PG_PASSWORD: password,
      SLUICE_PG_DATABASE: "postgres",
      SLUICE_PG_SSL: "true",
      ...settings,
    });
    assert.ok(read.value, JSON.stringify(read.violations));
    const database = await openDatabase(read.value);
    try {
      const encrypted = database.query("select ssl from pg_stat_ssl where pid = pg_backend_pid()");
      if (fault !== null) {
        await assert.rejects(encrypted, fault);
        return;
      }
      assert.deepEqual(await encrypted, [{ ssl: true }]);
      let heard = 0;
      await database.listen("signals", () => void heard++);
      const before = heard;
      await database.query("select pg_notify('signals', '')");
      await waitFor(() => heard > before, { what: "a notification over TLS" });
    } finally {
      await database.close();
    }
  });
