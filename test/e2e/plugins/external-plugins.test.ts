/** Plugins outside this repository, in processes that are started as users start them. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { type NodeWithPlugins, sluiceProgram, startNodeIn, writeIn } from "./node-with-plugins.ts";

const folder = temporaryFolder("external-plugins");
const upstream = createServer(({ headers }, response) => response.end(`word: ${headers["x-word"] ?? "none"}`));
before(() => new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve)));
after(() => {
  upstream.close();
  folder.remove();
});

const write = (name: string, text: string) => writeIn(folder.path, name, text);

write(
  "words/schema.ts",
  `import { definePluginFacts, record, text } from "@sluice/plugin-sdk";
  export default definePluginFacts({
    name: "words",
    version: "2.1.0",
    priority: 5,
    protects: false,
    schema: record(
      {
        word: text({ description: "Sent to the upstream.", default: "hello", maxLength: 8 }),
        password: text({ description: "A secret.", default: "none", secret: true }),
      },
      { description: "Sends a word to the upstream." },
    ),
    secretParameters: () => ["ticket"],
    check: ({ word }) => {
      if (word === "throw") throw new Error("checked");
      return word === "bad" ? [{ path: ["word"], message: "is not polite" }] : [];
    },
  });`,
);
write(
  "words/index.ts",
  `import { definePlugin, HeaderName } from "@sluice/plugin-sdk";
  import facts from "./schema.ts";
  const header = new HeaderName("X-Word");
  export default definePlugin({
    ...facts,
    phases({ word }) {
      const until = (milliseconds) => {
        for (const end = Date.now() + milliseconds; Date.now() < end; );
      };
      if (word === "create") throw new Error("not today");
      return {
        async access(exchange) {
          if (word === "block") until(exchange.request.path === "/block/forever" ? 600_000 : 150);
          if (word === "access") throw new Error("in access");
          if (exchange.request.header("x-stop")) return { status: 418, body: word };
          exchange.upstreamHeaders.set(header, word);
          return undefined;
        },
      };
    },
  });`,
);

const words = ["hello", "access", "create", "block"];

/**
 * A declarative file with a route for each word, and with `more` further routes. A file with many routes is read in a
 * process of its own.
 */
function declarative(more = 0): string {
  const { port } = upstream.address() as AddressInfo;
  const routes = [
    ...words.map((word) => ({ name: word, paths: [`/${word}`], plugins: [{ name: "words", config: { word } }] })),
    ...Array.from({ length: more }, (_, at) => ({ name: `route-${at}`, paths: [`/route-${at}`] })),
  ];
  return JSON.stringify({ _format_version: "3.0", services: [{ name: "up", host: "127.0.0.1", port, routes }] });
}

const start = (command: "gateway" | "start", env: Readonly<Record<string, string>>) =>
  startNodeIn(folder.path, command, { SLUICE_PLUGINS: "./words", ...env });

async function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<readonly [number, string]> {
  const response = await fetch(url, { headers });
  return [response.status, await response.text()];
}

/** Checks the routes whose plugin `words` works, throws in its access phase, or cannot be created. */
async function assertServes({ proxy, process }: NodeWithPlugins): Promise<void> {
  assert.deepEqual(await get(`${proxy}/hello`), [200, "word: hello"]);
  assert.deepEqual(await get(`${proxy}/hello`, { "x-stop": "1" }), [418, "hello"]);
  const [thrown] = await get(`${proxy}/access`);
  const [closed] = await get(`${proxy}/create`);
  assert.deepEqual([thrown, closed], [500, 503]);
  await process.waitForOutput(/"in access".*a plugin failed/);
  await process.waitForOutput(/plugin words \([^)]*\) cannot be created: Error: not today/);
}

describe("a node with two workers, a plugin of SLUICE_PLUGINS, and a file that is read in another process", () => {
  let node: NodeWithPlugins;
  before(async () => {
    write("sluice.json", declarative(2000));
    node = await start("gateway", {
      SLUICE_WORKERS: "2",
      SLUICE_WORKER_TIMEOUT: "1s",
      SLUICE_PROXY_ACCESS_LOG: "stdout",
      SLUICE_PROXY_ACCESS_LOG_QUERY: "true",
    });
  });
  after(() => node.process.stop());

  // This must be the first test, because only a worker's first call of a phase is always measured.
  test("names the plugin in warnings and in a metric when the plugin blocks the event loop, and then serves again", async () => {
    const { proxy, status, process } = node;
    await get(`${proxy}/block`);
    await process.waitForOutput(/"plugin":"words","phase":"access","milliseconds":1\d\d,.*blocked the event loop/);
    const [, metrics] = await get(`${status}/metrics`);
    assert.match(metrics, /^sluice_plugin_seconds_sum\{plugin="words",phase="access"\} 0\.1\d+$/m);
    await assert.rejects(get(`${proxy}/block/forever`));
    await process.waitForOutput(/its event loop has been blocked for 1000 ms by the plugin words/);
    assert.deepEqual(await get(`${proxy}/hello`), [200, "word: hello"]);
  });

  test("runs the plugin", () => assertServes(node));

  test("redacts, in the access log of worker threads, the query parameters that the plugin declares as secret", async () => {
    const { proxy, process } = node;
    await get(`${proxy}/hello?ticket=open-sesame&page=1`);
    await process.waitForOutput(/"path":"\/hello\?ticket=\[redacted\]&page=1"/);
    assert.doesNotMatch(process.output(), /open-sesame/);
  });
});

describe("a node with a plugin of SLUICE_PLUGINS", () => {
  test("runs the plugin with one worker", async (context) => {
    write("sluice.json", declarative());
    const node = await start("gateway", { SLUICE_WORKERS: "1" });
    context.after(() => node.process.stop());
    await assertServes(node);
  });

  test("shows the plugin in the admin API, which validates its config", async (context) => {
    write("sluice.json", declarative());
    const { admin, process } = await start("start", { SLUICE_FILE_WRITABLE: "true" });
    context.after(() => process.stop());
    const read = async (path: string) => JSON.parse((await get(`${admin}${path}`))[1]);
    assert.ok((await read("/plugins/enabled")).enabled_plugins.includes("words"));
    assert.deepEqual((await read("/")).plugins.available_on_server.words, { version: "2.1.0", priority: 5 });
    const { fields } = await read("/schemas/plugins/words");
    assert.partialDeepStrictEqual(fields.at(-1).config.fields[0], { word: { type: "string", default: "hello" } });
    const post = async (body: object) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${admin}/plugins`, { method: "POST", headers, body: JSON.stringify(body) });
      return [response.status, Object(await response.json()).message ?? null] as const;
    };
    const rows: readonly (readonly [config: object, status: number, message: string | null])[] = [
      [{ word: "long long word" }, 400, "schema violation (config.word: length must be at most 8)"],
      [{ word: "bad" }, 400, "schema violation (config.word: is not polite)"],
      [{ word: "throw" }, 400, "schema violation (the plugin's check failed: Error: checked)"],
      [{ wrod: "hi" }, 400, "schema violation (config.wrod: unknown field)"],
      [{ word: "hi" }, 201, null],
    ];
    for (const [config, ...expected] of rows) assert.deepEqual(await post({ name: "words", config }), expected);
  });
});

test("a node that lacks a plugin configured in its database answers 503 in the plugin's scope, and names the plugin in its status, metrics and log", async (context) => {
  const database = { SLUICE_STORE: "database", SLUICE_DATABASE_DIR: "database" };
  const { port } = upstream.address() as AddressInfo;
  const bootstrap = { name: "sluice", cwd: folder.path, env: { SLUICE_DATABASE_DIR: "database" } };
  assert.equal((await (await startProcess(sluiceProgram, ["migrations", "bootstrap"], bootstrap)).ended()).code, 0);
  const complete = await start("start", database);
  context.after(() => complete.process.stop());
  const post = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" };
    const { status } = await fetch(`${complete.admin}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(status, 201, path);
  };
  await post("/services", { name: "up", host: "127.0.0.1", port });
  await post("/services/up/routes", { name: "used", paths: ["/used"] });
  await post("/services/up/routes", { name: "plain", paths: ["/plain"] });
  await post("/routes/used/plugins", { name: "words" });
  assert.deepEqual(await get(`${complete.proxy}/used`), [200, "word: hello"]);
  await complete.process.stop();

  const lacking = await start("start", { ...database, SLUICE_PLUGINS: "" });
  context.after(() => lacking.process.stop());
  assert.equal((await get(`${lacking.proxy}/used`))[0], 503);
  assert.deepEqual(await get(`${lacking.proxy}/plain`), [200, "word: none"]);
  assert.deepEqual(JSON.parse((await get(`${lacking.status}/status`))[1]).sluice.missing_plugins, ["words"]);
  assert.match(
    (await get(`${lacking.status}/metrics`))[1],
    /^sluice_plugins_missing\{node_id="[^"]*",plugin="words"\} 1$/m,
  );
  await lacking.process.waitForOutput(/answers 503: .*plugin 'words' not enabled/);
});

const TOKEN_OPTIONS = { SLUICE_PLUGINS: "./token" };

/** @param plan Source text of the schema of `plan`, a member of a credential's `config` */
function writeTokenPlugin(plan = 'text({ description: "A plan.", default: "basic" })'): void {
  write(
    "token/schema.ts",
    `import { choice, definePluginFacts, record, text } from "@sluice/plugin-sdk";
    export default definePluginFacts({
      name: "token",
      version: "1.0.0",
      priority: 1100,
      protects: true,
      schema: record({}, { description: "Requires a token." }),
      credentials: {
        key: text({ description: "The token.", minLength: 4 }),
        schema: record({ plan: ${plan} }, { description: "A token." }),
      },
    });`,
  );
}
write(
  "token/index.ts",
  `import { authenticationPhase, definePlugin } from "@sluice/plugin-sdk";
  import facts from "./schema.ts";
  export default definePlugin({
    ...facts,
    phases: () => ({
      access: authenticationPhase({
        plugin: facts.name,
        anonymous: null,
        authenticate({ request, identities, upstreamHeaders }) {
          const identity = identities.pluginIdentity(facts, request.header("x-token") ?? "");
          if (identity === undefined) return { refusal: { status: 401, message: "Unauthorized" } };
          upstreamHeaders.set("X-Word", identity.consumer.username + " " + identity.credential.config.plan);
          return { identity };
        },
      }),
    }),
  });`,
);

/** Uses a new connection, because a connection that is kept alive stays with a worker that runs the earlier code. */
const withToken = (url: string, token: string) => get(url, { "x-token": token, connection: "close" });

for (const workers of ["1", "2"])
  test(`a plugin finds credentials of its own type in a file, and refuses other tokens, with SLUICE_WORKERS ${workers}`, async (context) => {
    writeTokenPlugin();
    const { port } = upstream.address() as AddressInfo;
    const routes = [{ name: "all", paths: ["/"], plugins: [{ name: "token" }] }];
    const file = {
      _format_version: "3.0",
      services: [{ name: "up", host: "127.0.0.1", port, routes }],
      consumers: [
        { username: "ann", plugin_credentials: [{ plugin: "token", key: "token-of-ann", config: { plan: "gold" } }] },
        { username: "bob", plugin_credentials: [{ plugin: "token", key: "token-of-bob" }] },
      ],
    };
    write("sluice.json", JSON.stringify(file));
    const { proxy, process } = await start("gateway", { ...TOKEN_OPTIONS, SLUICE_WORKERS: workers });
    context.after(() => process.stop());
    assert.deepEqual(await withToken(proxy, "token-of-ann"), [200, "word: ann gold"]);
    assert.deepEqual(await withToken(proxy, "token-of-bob"), [200, "word: bob basic"]);
    for (const token of ["", "token", "token token-of-bob"]) assert.equal((await withToken(proxy, token))[0], 401);
  });

test("a plugin's credentials in a database have no effect while the plugin refuses them, and remain stored for a version that accepts them", async (context) => {
  writeTokenPlugin();
  const database = { ...TOKEN_OPTIONS, SLUICE_STORE: "database", SLUICE_DATABASE_DIR: "token-database" };
  const { port } = upstream.address() as AddressInfo;
  const bootstrap = { name: "sluice", cwd: folder.path, env: { SLUICE_DATABASE_DIR: "token-database" } };
  assert.equal((await (await startProcess(sluiceProgram, ["migrations", "bootstrap"], bootstrap)).ended()).code, 0);
  const send = async (url: string, method: string, body: object) => {
    const headers = { "content-type": "application/json" };
    return (await fetch(url, { method, headers, body: JSON.stringify(body) })).status;
  };
  const first = await start("start", database);
  context.after(() => first.process.stop());
  const credentials = `${first.admin}/consumers/ann/plugin-credentials`;
  const id = "44444444-4444-4444-8444-444444444444";
  const posts: readonly (readonly [path: string, body: object])[] = [
    ["/services", { name: "up", host: "127.0.0.1", port }],
    ["/services/up/routes", { name: "all", paths: ["/"] }],
    ["/plugins", { name: "token" }],
    ["/consumers", { username: "ann" }],
    ["/consumers/ann/plugin-credentials", { id, plugin: "token", key: "token-of-ann", config: { plan: "gold" } }],
  ];
  for (const [path, body] of posts) assert.equal(await send(first.admin + path, "POST", body), 201, path);
  assert.deepEqual(await withToken(first.proxy, "token-of-ann"), [200, "word: ann gold"]);
  assert.equal(await send(`${credentials}/${id}`, "PATCH", { key: "new-token" }), 200);
  assert.equal((await withToken(first.proxy, "token-of-ann"))[0], 401);
  assert.deepEqual(await withToken(first.proxy, "new-token"), [200, "word: ann gold"]);

  const strictPlan = 'choice(["basic", "silver"], { description: "A plan.", default: "basic" })';
  const reload = async (plan?: string) => {
    writeTokenPlugin(plan);
    const before = first.process.output().length;
    first.process.signal("SIGHUP");
    await waitFor(() => first.process.output().slice(before).includes("the plugins were loaded again"), {
      what: "the plugins to be loaded again",
    });
  };
  await reload(strictPlan);
  assert.equal((await withToken(first.proxy, "new-token"))[0], 401);
  await first.process.waitForOutput(/grants no access: credential for the plugin token: config\.plan: /);
  await reload();
  assert.deepEqual(await withToken(first.proxy, "new-token"), [200, "word: ann gold"]);
  await first.process.stop();

  writeTokenPlugin(strictPlan);
  const stricter = await start("start", database);
  context.after(() => stricter.process.stop());
  assert.equal((await withToken(stricter.proxy, "new-token"))[0], 401);
  await stricter.process.waitForOutput(/grants no access: credential for the plugin token: config\.plan: /);
  await stricter.process.stop();

  const lacking = await start("start", { ...database, SLUICE_PLUGINS: "" });
  context.after(() => lacking.process.stop());
  const [, shown] = await get(`${lacking.admin}/plugin-credentials/${id}`);
  assert.deepEqual(JSON.parse(shown).config, { plan: "gold" });
});

const run = (args: readonly string[], plugins: string) =>
  startProcess(sluiceProgram, args, { name: "sluice", cwd: folder.path, env: { SLUICE_PLUGINS: plugins } });

test("sluice config parse knows the plugins of SLUICE_PLUGINS", async () => {
  write("sluice.json", declarative());
  const known = await run(["config", "parse", "sluice.json"], "./words");
  assert.deepEqual([(await known.ended()).code, known.output()], [0, "parse successful\n"]);
  const unknown = await run(["config", "parse", "sluice.json"], "");
  assert.equal((await unknown.ended()).code, 1);
  assert.match(unknown.output(), /plugin 'words' not enabled/);
});

for (const command of ["gateway", "start", "admin"])
  test(`sluice ${command} does not start, and prints every fault, if SLUICE_PLUGINS is invalid`, async () => {
    const process = await run([command], "./nope,cors,none");
    assert.equal((await process.ended()).code, 1);
    const [first, second, third] = process.output().split("\n");
    assert.match(first ?? "", /^sluice: SLUICE_PLUGINS: \.\/nope: there is no folder .*\/nope: relative paths start/);
    assert.equal(
      second,
      "SLUICE_PLUGINS: cors: the plugins that come with Sluice are always enabled: remove this entry",
    );
    assert.match(third ?? "", /^SLUICE_PLUGINS: none: there is no such package in node_modules of /);
  });
