import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { after, type TestContext, test } from "node:test";
import { loadSettings, readSettings, SettingsError, TemporaryLogLevel } from "@sluice/model/serving";
import { pino } from "pino";
import { sendRequest as ask } from "../../../test/conformance/engine/client.ts";
import { portOf, startUpstream } from "../../../test/conformance/engine/proxy-rig.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { withNodeDatabase } from "../../../tools/programs/servers/embedded-database.ts";
import { databaseSettings } from "../settings/database.ts";
import { runMigrations } from "./migrations.ts";
import { startCommand } from "./start.ts";
import { noProgress } from "./terminal/progress.ts";

interface Started {
  readonly proxy: string;
  readonly status: string;
  readonly admin: string;
  readonly upstream: string;
  readonly close: () => Promise<void>;
}

const noArguments = { subcommands: [], positionals: [], options: {} } as const;

async function start(context: TestContext, env: Readonly<Record<string, string>>): Promise<Started> {
  const upstream = await startUpstream(context, ({ url }, response) =>
    response.writeHead(200, { "content-type": "text/plain" }).end(`got ${url}`),
  );
  const variables = {
    SLUICE_PROXY_LISTEN: "127.0.0.1:0",
    SLUICE_STATUS_LISTEN: "127.0.0.1:0",
    SLUICE_ADMIN_LISTEN: "127.0.0.1:0",
    SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
    SLUICE_DRAIN_TIMEOUT: "10ms",
    ...env,
  };
  const loadedSettings = await loadSettings(startCommand.settings, { env: variables, flags: {} });
  assert.deepEqual(loadedSettings.violations, []);
  const lines: string[] = [];
  const log = pino(
    { level: "info" },
    new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) }),
  );
  const running = await startCommand.run({
    settings: loadedSettings.values,
    loadedSettings,
    given: noArguments,
    log,
    logLevel: new TemporaryLogLevel(log),
    print() {},
    progress: noProgress,
  });
  assert.ok(typeof running === "object");
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= running.close();
    return closing;
  };
  context.after(close);
  const up = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === "sluice is up");
  const base = ({ host, port }: { host: string; port: number }) => `http://${host}:${port}`;
  return {
    proxy: base(up.proxy),
    status: base(up.status),
    admin: base(up.admin),
    upstream: `http://127.0.0.1:${portOf(upstream)}`,
    close,
  };
}

async function send(url: string, body?: object, method = body ? "POST" : "GET") {
  const response = await fetch(url, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function fileIn(context: TestContext, text: string): string {
  const folder = temporaryFolder("start");
  context.after(() => folder.remove());
  const file = join(folder.path, "sluice.yml");
  writeFileSync(file, text);
  return file;
}

/** The folder of a database with tables, which no process uses. Creating the tables takes longer than a copy. */
const made = temporaryFolder("start");
after(() => made.remove());
let template: Promise<string> | undefined;

async function createTables(): Promise<string> {
  const folder = await withNodeDatabase(join(made.path, "db"));
  const print = () => {};
  const { value: settings } = readSettings(databaseSettings, {
    SLUICE_STORE: "database",
    SLUICE_DATABASE_DIR: folder,
  });
  assert.ok(settings);
  const given = { ...noArguments, subcommands: ["migrations", "bootstrap"] };
  assert.equal(await runMigrations({ given, settings, print, printFault: print }), 0);
  return folder;
}

async function bootstrapped(context: TestContext): Promise<Readonly<Record<string, string>>> {
  const folder = temporaryFolder("start");
  context.after(() => folder.remove());
  template ??= createTables();
  cpSync(await template, folder.path, { recursive: true });
  return { SLUICE_STORE: "database", SLUICE_DATABASE_DIR: folder.path };
}

const empty = '# mine\n_format_version: "3.0"\n';
const forms: readonly [string, (context: TestContext) => Promise<Readonly<Record<string, string>>>][] = [
  [
    "a writable file",
    async (context) => ({ SLUICE_STORE: "file", SLUICE_FILE: fileIn(context, empty), SLUICE_FILE_WRITABLE: "on" }),
  ],
  ["the embedded database", bootstrapped],
];

for (const [what, envOf] of forms) {
  test(`with 'sluice start' and ${what}, a write has taken effect when its response arrives`, async (context) => {
    const { admin, proxy, status, upstream } = await start(context, await envOf(context));
    const made = await send(`${admin}/services`, { name: "a", url: upstream });
    assert.equal(made.status, 201, made.text);
    const routed = await send(`${admin}/services/a/routes`, { name: "r", paths: ["/x"] });
    assert.equal(routed.headers.get("x-sluice-programmed"), "true");
    assert.equal((await send(`${proxy}/x/y`)).text, "got /y");
    assert.equal((await send(`${admin}/routes/r`, undefined, "DELETE")).status, 204);
    assert.equal((await send(`${proxy}/x/y`)).status, 404);
    const answer = JSON.parse((await send(`${admin}/status`)).text);
    assert.equal(answer.sluice.fleet.nodes.length, 1);
    assert.equal((await send(`${status}/status/ready`)).status, 200);
  });

  test(`with 'sluice start' and ${what}, the same configuration is served after a restart`, async (context) => {
    const env = await envOf(context);
    const first = await start(context, env);
    await send(`${first.admin}/services`, { name: "a", url: first.upstream });
    await send(`${first.admin}/services/a/routes`, { name: "r", paths: ["/x"] });
    const route = (await send(`${first.admin}/routes/r`)).text;
    await first.close();
    const second = await start(context, env);
    assert.equal((await send(`${second.proxy}/x`)).text, "got /");
    assert.equal((await send(`${second.admin}/routes/r`)).text, route);
  });
}

for (const [what, envOf] of forms) {
  test(`with 'sluice start' and ${what}, a write has taken effect in both workers when its response arrives`, async (context) => {
    const { admin, proxy, status, upstream } = await start(context, { ...(await envOf(context)), SLUICE_WORKERS: "2" });
    const port = Number(new URL(proxy).port);
    // Each request uses its own connection, so that both workers get some requests.
    const answers = async () => Promise.all(Array.from({ length: 24 }, () => ask(port, { path: "/x/y" })));
    const statuses = async () => new Set((await answers()).map((answer) => answer.status));
    const target = new URL(upstream).host;
    const checks = { passive: { unhealthy: { http_failures: 1 } } };
    for (const [path, body] of [
      ["/upstreams", { name: "up", healthchecks: checks }],
      ["/upstreams/up/targets", { target }],
      ["/services", { name: "a", url: "http://up" }],
      ["/services/a/routes", { name: "r", paths: ["/x"] }],
    ] as const) {
      const { status: made, headers, text } = await send(`${admin}${path}`, body);
      assert.deepEqual([made, headers.get("x-sluice-programmed")], [201, "true"], text);
    }
    assert.deepEqual(new Set((await answers()).map(({ body }) => body)), new Set(["got /y"]));
    const limited = { name: "rate-limiting", config: { year: 10, policy: "local" } };
    const { id } = JSON.parse((await send(`${admin}/services/a/plugins`, limited)).text);
    assert.equal((await answers()).filter((answer) => answer.status === 200).length, 10);
    assert.equal((await send(`${admin}/plugins/${id}`, undefined, "DELETE")).status, 204);
    assert.deepEqual(await statuses(), new Set([200]));
    const turn = (to: string) => send(`${admin}/upstreams/up/targets/${target}/${to}`, undefined, "PUT");
    assert.equal((await turn("unhealthy")).status, 204);
    assert.deepEqual(await statuses(), new Set([503]));
    assert.equal((await turn("healthy")).status, 204);
    assert.deepEqual(await statuses(), new Set([200]));
    assert.equal((await send(`${admin}/routes/r`, undefined, "DELETE")).status, 204);
    assert.deepEqual(await statuses(), new Set([404]));
    assert.equal(JSON.parse((await send(`${status}/status`)).text).server.connections_accepted, 24 * 6);
  });
}

test("'sluice start' lets clients set the health of a target through the admin API", async (context) => {
  const text = `${empty}upstreams:\n- name: up\n  healthchecks: {passive: {unhealthy: {http_failures: 1}}}\n  targets:\n  - target: 127.0.0.1:1\n`;
  const { admin } = await start(context, { SLUICE_STORE: "file", SLUICE_FILE: fileIn(context, text) });
  const health = async () => JSON.parse((await send(`${admin}/upstreams/up/health`)).text).data[0].health;
  assert.equal(await health(), "HEALTHY");
  const turned = await send(`${admin}/upstreams/up/targets/127.0.0.1:1/unhealthy`, undefined, "PUT");
  assert.equal(turned.status, 204, turned.text);
  assert.equal(await health(), "UNHEALTHY");
});

for (const workers of ["1", "2"]) {
  test(`with SLUICE_WORKERS=${workers}, 'sluice start' shows and removes cached responses through the admin API`, async (context) => {
    const file = fileIn(
      context,
      `${empty}plugins:\n- name: proxy-cache\n  instance_name: c\n  config: {strategy: memory}\n`,
    );
    const env = { SLUICE_STORE: "file", SLUICE_FILE: file, SLUICE_FILE_WRITABLE: "on", SLUICE_WORKERS: workers };
    const { admin, proxy, upstream } = await start(context, env);
    assert.equal((await send(`${admin}/services`, { name: "a", url: upstream })).status, 201);
    assert.equal((await send(`${admin}/services/a/routes`, { name: "r", paths: ["/x"] })).status, 201);
    const [plugin] = JSON.parse((await send(`${admin}/plugins`)).text).data;
    const port = Number(new URL(proxy).port);
    // Each request uses its own connection, so that every worker gets some requests.
    const requests = async () => Promise.all(Array.from({ length: 24 }, () => ask(port, { path: "/x/y" })));
    const statuses = async () => new Set((await requests()).map(({ headers }) => headers["x-cache-status"]));
    const key = (await requests())[0]?.headers["x-cache-key"];
    assert.deepEqual(await statuses(), new Set(["Hit"]));
    const shown = await send(`${admin}/proxy-cache/${key}`);
    assert.deepEqual([shown.status, JSON.parse(shown.text).body], [200, "got /y"]);
    for (const [path, once, again] of [
      [`/proxy-cache/${key}`, 204, 404],
      [`/proxy-cache/${plugin.id}/caches/${key}`, 204, 404],
      [`/plugins/${plugin.id}/caches/${key}`, 204, 404],
      [`/plugins/${plugin.id}/caches`, 204, 204],
      ["/proxy-cache", 204, 204],
    ] as const) {
      await requests();
      assert.deepEqual(await statuses(), new Set(["Hit"]), path);
      assert.equal((await send(`${admin}${path}`, undefined, "DELETE")).status, once, path);
      assert.equal((await send(`${admin}${path}`, undefined, "DELETE")).status, again, path);
      assert.equal((await send(`${admin}/proxy-cache/${key}`)).status, 404);
    }
    assert.equal((await send(`${admin}/plugins/${plugin.id}/other`)).status, 404);
  });
}

for (const workers of ["1", "2"]) {
  test(`with SLUICE_WORKERS=${workers}, 'sluice start' explains a request, with the counters of all workers`, async (context) => {
    const file = fileIn(context, `${empty}plugins:\n- name: rate-limiting\n  config: {year: 5}\n`);
    const env = { SLUICE_STORE: "file", SLUICE_FILE: file, SLUICE_FILE_WRITABLE: "on", SLUICE_WORKERS: workers };
    const { admin, proxy, upstream } = await start(context, env);
    assert.equal((await send(`${admin}/services`, { name: "a", url: upstream })).status, 201);
    assert.equal((await send(`${admin}/services/a/routes`, { name: "r", paths: ["/x"] })).status, 201);
    const explain = async () => {
      const { status, text } = await send(`${admin}/explain`, { url: "http://any.example/x/y" });
      assert.equal(status, 200, text);
      const { route, counters, response } = JSON.parse(text);
      return [route.name, counters[0].count, response?.status];
    };
    assert.deepEqual(await explain(), ["r", 0, undefined]);
    const port = Number(new URL(proxy).port);
    await Promise.all(Array.from({ length: 9 }, () => ask(port, { path: "/x/y" })));
    assert.deepEqual(await explain(), ["r", 5, 429]);
    assert.equal((await send(`${admin}/explain`, { url: 1 })).status, 400);
  });
}

for (const workers of ["1", "2"]) {
  test(`with SLUICE_WORKERS=${workers}, a protecting plugin gets a value from the environment, and its route answers 503 without the value`, async (context) => {
    process.env.START_TEST_SECRET = "of the webhook";
    context.after(() => delete process.env.START_TEST_SECRET);
    const env = { SLUICE_VAULT_ENV: "START_TEST_*", SLUICE_WORKERS: workers };
    const file = { SLUICE_STORE: "file", SLUICE_FILE: fileIn(context, empty), SLUICE_FILE_WRITABLE: "on" };
    const { admin, proxy, upstream } = await start(context, { ...file, ...env });
    assert.equal((await send(`${admin}/services`, { name: "a", url: upstream })).status, 201);
    assert.equal((await send(`${admin}/services/a/routes`, { name: "r", paths: ["/x"] })).status, 201);
    const put = (secret_v1: string) =>
      send(`${admin}/routes/r/plugins/hook`, { name: "standard-webhooks", config: { secret_v1 } }, "PUT");
    const signed = async () => {
      const time = Math.floor(Date.now() / 1000);
      const signature = createHmac("sha256", "of the webhook").update(`m.${time}.{}`).digest("base64");
      const headers = { "webhook-id": "m", "webhook-timestamp": `${time}`, "webhook-signature": `v1,${signature}` };
      return (await fetch(`${proxy}/x/y`, { method: "POST", body: "{}", headers })).status;
    };
    const reference = "{vault://env/start-test-secret}";
    const made = await put(reference);
    assert.equal(made.status, 200, made.text);
    assert.equal(JSON.parse(made.text).config.secret_v1, reference);
    assert.equal(await signed(), 200);
    assert.equal((await put("{vault://env/start-test-none}")).status, 200);
    assert.equal(await signed(), 503);
    assert.match((await put("{vault://env}")).text, /config.secret_v1: expected a reference such as /);
    assert.equal((await put("{vault://hooks/secret}")).status, 200);
    assert.equal(await signed(), 503, "the vault does not exist");
    const vault = (method: string, prefix = "") =>
      send(`${admin}/vaults/hooks`, method === "DELETE" ? undefined : { name: "env", config: { prefix } }, method);
    for (const [method, prefix, status] of [
      ["PUT", "START_TEST_", 200],
      ["PATCH", "START_TEST_NO_", 503],
      ["PATCH", "start-test-", 200],
      ["DELETE", "", 503],
    ] as const) {
      const written = await vault(method, prefix);
      assert.ok(written.status < 300, written.text);
      assert.equal(await signed(), status, `${method} with the prefix ${prefix}`);
    }
  });
}

test("'sluice start' reports the addresses of the proxy listeners in the admin API, as Kong does", async (context) => {
  const { admin, proxy } = await start(context, { SLUICE_STORE: "file", SLUICE_FILE: fileIn(context, empty) });
  const { configuration } = JSON.parse((await send(`${admin}/`)).text);
  const { hostname: ip, port, host } = new URL(proxy);
  assert.deepEqual(configuration.proxy_listeners, [{ ip, port: Number(port), ssl: false, http2: false }]);
  assert.deepEqual(configuration.proxy_listen, [host]);
});

test("a file is read-only by default, as in Kong", async (context) => {
  const file = fileIn(context, empty);
  const { admin } = await start(context, { SLUICE_STORE: "file", SLUICE_FILE: file });
  const { status, text } = await send(`${admin}/services`, { name: "a", url: "http://up" });
  assert.equal(status, 405, text);
  assert.match(text, /cannot create 'services' entities when not using a database/);
  assert.equal(readFileSync(file, "utf8"), empty);
});

test("a second process that may write the same file does not start, and the error gives the reason", async (context) => {
  const env = { SLUICE_STORE: "file", SLUICE_FILE: fileIn(context, empty), SLUICE_FILE_WRITABLE: "on" };
  await start(context, env);
  await assert.rejects(start(context, env), (error: Error) => {
    assert.ok(error instanceof SettingsError);
    assert.match(error.message, /^another process writes .*sluice\.yml, and only one process at a time may/);
    return true;
  });
});

test("a database without tables is refused with an error that names the command to run, and no folder is created; SLUICE_DATABASE_BOOTSTRAP creates the tables", async (context) => {
  const folder = temporaryFolder("start");
  context.after(() => folder.remove());
  const place = join(folder.path, "db");
  await assert.rejects(start(context, { SLUICE_DATABASE_DIR: place }), /sluice migrations bootstrap/);
  assert.deepEqual(readdirSync(folder.path), []);
  const env = { SLUICE_DATABASE_DIR: await withNodeDatabase(place), SLUICE_DATABASE_BOOTSTRAP: "on" };
  const { admin, close } = await start(context, env);
  assert.equal((await send(`${admin}/services`, { name: "a", url: "http://up" })).status, 201);
  await close();
  const again = await start(context, env);
  assert.equal((await send(`${again.admin}/services/a`)).status, 200);
});
