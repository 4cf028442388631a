import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, test } from "node:test";
import { Redis } from "ioredis";
import { Client } from "pg";
import { launchBrowser } from "../browser.ts";
import { startLdapServer } from "./ldap.ts";
import { startPostgres } from "./postgres.ts";
import { startRedis } from "./redis.ts";

test("a Redis responds, and is empty on the same port after a restart", async () => {
  const redis = await startRedis();
  after(() => redis.stop());
  const ask = async <T>(work: (client: Redis) => Promise<T>) => {
    const client = new Redis(redis.url);
    try {
      return await work(client);
    } finally {
      client.disconnect();
    }
  };
  assert.equal(await ask((client) => client.set("key", "value")), "OK");
  await redis.restart();
  assert.equal(await ask((client) => client.get("key")), null);
});

test("a Postgres runs a query of its superuser, and refuses a wrong password", async () => {
  const postgres = await startPostgres();
  after(() => postgres.stop());
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  const { rows } = await client.query("select split_part(version(), ' ', 2) as version, current_user as name");
  await client.end();
  assert.equal(rows[0].name, "postgres");
  assert.match(rows[0].version, /^18/);
  const wrong = new URL(postgres.url);
  wrong.password = "wrong";
  await assert.rejects(new Client({ connectionString: wrong.href }).connect(), /password authentication failed/);
});

test("a browser loads a page and runs its script", async () => {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<p id=words>before</p><script>words.textContent = 'made by a script'</script>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const browser = await launchBrowser();
  after(() => browser.close());
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  assert.equal(await page.textContent("#words"), "made by a script");
});

test("an LDAP server accepts a person's password, and refuses a wrong password", async () => {
  const server = await startLdapServer({ alice: "wonderland" });
  after(() => server.stop());
  const bind = (password: string) => {
    const socket = connect(server.port, "127.0.0.1");
    const name = "uid=alice,ou=people,dc=example,dc=com";
    const request = Buffer.from([
      ...[0x30, 12 + name.length + password.length, 2, 1, 1, 0x60, 7 + name.length + password.length, 2, 1, 3],
      ...[4, name.length, ...Buffer.from(name), 0x80, password.length, ...Buffer.from(password)],
    ]);
    const answered = new Promise<number | undefined>((resolve, reject) => {
      socket.once("error", reject).once("data", (response: Buffer) => resolve(response[9]));
      socket.write(request);
    });
    return answered.finally(() => socket.destroy());
  };
  assert.equal(await bind("wonderland"), 0);
  assert.equal(await bind("other"), 49);
});
