/** Plugins whose files change while a node runs them, in processes that are started as users start them. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { Agent, createServer, get } from "node:http";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort, startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { sluiceProgram, startNodeIn, writeIn } from "./node-with-plugins.ts";

const folder = temporaryFolder("plugin-reload");
const upstream = createServer(({ headers }, response) => response.end(String(headers["x-words"])));
before(() => new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve)));
after(() => {
  upstream.close();
  folder.remove();
});

const write = (name: string, text: string) => writeIn(folder.path, name, text);

interface PluginText {
  /** The version in the plugin's code, which shows which code served a request. */
  readonly version?: string;
  /** The default of the config member `word`. */
  readonly word?: string;
  /** Source text of further members of the schema. */
  readonly members?: string;
  /** Source text of further statements of `index.ts`. */
  readonly more?: string;
}

/** Writes the plugin, which sends its version and the configured word to the upstream in a header. */
function writePlugin({ version = "0", word = "hello", members = "", more = "" }: PluginText = {}): void {
  write("words/version.ts", `export const version = "${version}";`);
  write(
    "words/schema.ts",
    `import { definePluginFacts, record, text } from "@sluice/plugin-sdk";
    export default definePluginFacts({
      name: "words",
      version: "1.0.0",
      priority: 5,
      protects: false,
      schema: record({ word: text({ description: "A word.", default: "${word}" }), ${members} }, { description: "Words." }),
    });`,
  );
  write(
    "words/index.ts",
    `import { definePlugin, HeaderName } from "@sluice/plugin-sdk";
    import facts from "./schema.ts";
    import { version } from "./version.ts";
    const header = new HeaderName("X-Words");
    ${more}
    export default definePlugin({
      ...facts,
      phases: ({ word }) => ({
        access(exchange) {
          if (exchange.request.header("x-crash")) setImmediate(() => { throw new Error("crashed"); });
          exchange.upstreamHeaders.set(header, version + " " + word);
          return undefined;
        },
      }),
    });`,
  );
}

/** Writes the plugin, and installs it from an npm tarball. Its code contains no types, so it is valid JavaScript. */
async function installPlugin(plugin: PluginText = {}): Promise<void> {
  writePlugin(plugin);
  for (const name of ["version", "schema", "index"]) {
    const text = readFileSync(join(folder.path, `words/${name}.ts`), "utf8");
    write(`package/${name}.js`, text.replace(/(from "\.\/\w+)\.ts"/g, '$1.js"'));
  }
  const exports = { ".": "./index.js", "./schema": "./schema.js" };
  write("package/package.json", JSON.stringify({ name: "plugin-of-words", version: "1.0.0", type: "module", exports }));
  const npm = (...args: readonly string[]) => promisify(execFile)("npm", args, { cwd: folder.path });
  await npm("pack", "./package");
  await npm("install", "--offline", "--no-audit", "--no-fund", "./plugin-of-words-1.0.0.tgz");
}

function declarative(config: object = {}): string {
  const { port } = upstream.address() as AddressInfo;
  const plugins = [
    { name: "words", config },
    { name: "rate-limiting", config: { policy: "local", hour: 10_000_000 } },
  ];
  return JSON.stringify({
    _format_version: "3.0",
    services: [{ name: "up", host: "127.0.0.1", port, routes: [{ name: "all", paths: ["/"] }], plugins }],
  });
}

/** Starts a node. The caller stops its process. */
async function start(command: "gateway" | "start", env: Readonly<Record<string, string>> = {}) {
  const node = await startNodeIn(folder.path, command, { SLUICE_PLUGINS: "./words", ...env });
  return {
    ...node,
    /** The numbers of configured and of running workers, from GET /status. */
    async workers() {
      const { sluice } = Object(await (await fetch(`${node.status}/status`)).json());
      return sluice.workers;
    },
    body: async () => (await fetch(node.proxy, { headers: { connection: "close" } })).text(),
  };
}

/**
 * Sends a request on a connection that is kept for the next call. Repeats a request only if the server has refused its
 * HTTP/2 stream.
 */
type Client = () => Promise<{ readonly status: number; readonly body: string; readonly remaining: number }>;

function http1Client(url: string, context: TestContext): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  context.after(() => agent.destroy());
  return () =>
    new Promise((resolve, reject) => {
      get(url, { agent }, (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (chunk) => (body += chunk));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            body,
            remaining: Number(response.headers["ratelimit-remaining"]),
          }),
        );
        response.on("error", reject);
      }).on("error", reject);
    });
}

function http2Client(url: string, context: TestContext): Client {
  let session: ClientHttp2Session | null = null;
  context.after(() => session?.destroy());
  const send: Client = () =>
    new Promise((resolve, reject) => {
      const opened = session ?? connect(url);
      if (session === null) {
        session = opened;
        opened.on("error", reject).on("goaway", () => {
          if (session === opened) session = null;
          opened.close();
        });
      }
      const stream = opened.request({ ":path": "/" });
      let [status, remaining, body] = [0, 0, ""];
      stream.on("response", (headers) => {
        status = Number(headers[":status"]);
        remaining = Number(headers["ratelimit-remaining"]);
      });
      stream.setEncoding("utf8").on("data", (chunk) => (body += chunk));
      stream.on("end", () => resolve({ status, body, remaining }));
      // The server has not processed a request whose stream it refused, so clients repeat it (RFC 9113 section 8.7).
      stream.on("error", (error) => {
        if (stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM) return reject(error);
        if (session === opened) session = null;
        resolve(send());
      });
    });
  return send;
}

const CLIENTS = 8;
const RELOADS = 4;

describe("SIGHUP makes a node load its plugins again, without a failed request or a lost count of rate-limiting", () => {
  for (const [what, client, env, save = writePlugin] of [
    ["HTTP/1.1, one worker", http1Client, {}],
    [
      "HTTP/1.1, a plugin from an npm tarball that is installed again",
      http1Client,
      { SLUICE_PLUGINS: "plugin-of-words" },
      installPlugin,
    ],
    ["HTTP/1.1, two workers", http1Client, { SLUICE_WORKERS: "2" }],
    ["HTTP/1.1, the engine reply-from", http1Client, { SLUICE_ENGINE: "reply-from" }],
    ["HTTP/2, two workers", http2Client, { SLUICE_PROXY_HTTP2: "true", SLUICE_WORKERS: "2" }],
  ] as const)
    test(what, async (context) => {
      await save();
      write("sluice.json", declarative());
      const { process, proxy } = await start("gateway", { SLUICE_DRAIN_TIMEOUT: "3s", ...env });
      context.after(() => process.stop());
      const failures: unknown[] = [];
      const seen = new Set<string>();
      let requests = 0;
      let least = Number.POSITIVE_INFINITY;
      let isOver = false;
      const loops = Array.from({ length: CLIENTS }, async () => {
        const send = client(proxy, context);
        while (!isOver) {
          const response = await send().catch((error: unknown) => ({ status: error, body: "", remaining: 0 }));
          requests++;
          seen.add(response.body);
          least = Math.min(least, response.remaining);
          if (response.status !== 200) failures.push(response.status);
        }
      });
      for (let version = 1; version <= RELOADS; version++) {
        await save({ version: String(version), word: `word-${version}` });
        process.signal("SIGHUP");
        for (const end = Date.now() + 30_000; !seen.has(`${version} word-${version}`) && Date.now() < end; )
          await pause(10);
      }
      isOver = true;
      await Promise.all(loops);
      assert.deepEqual(failures, []);
      assert.ok(seen.has(`${RELOADS} word-${RELOADS}`), `responses: ${[...seen].join(", ")}`);
      assert.equal(least, 10_000_000 - requests, "all threads share the counters of rate limits");
    });
});

const refused: readonly (readonly [what: string, plugin: PluginText | string, message: RegExp])[] = [
  [
    "a syntax error",
    "export default {;",
    /words\/schema\.ts cannot be imported: SyntaxError: .*\/words\/schema\.ts:1\)/,
  ],
  [
    "an import of a module that does not exist",
    { more: 'import "./nope.ts";' },
    /words\/index\.ts cannot be imported: Error: Cannot find module .*nope\.ts/,
  ],
  [
    "an error that a module throws when it is imported",
    { more: "null.x;" },
    /cannot be imported: TypeError: .*\/words\/index\.ts:5:10\)/,
  ],
  [
    "an invalid schema",
    { members: "more: { type: 'strnig' }" },
    /words\/schema\.ts: schema\.more: unknown type \\?"strnig\\?"/,
  ],
  [
    "a schema to which the served configuration does not conform",
    { members: "more: text({ description: 'More.', minLength: 1 })" },
    /the plugin words \([^)]*\) is configured in a way that its new code refuses: config\.more: required field missing/,
  ],
];

describe("a reload that fails leaves the earlier code active, and the log names the file", () => {
  let node: Awaited<ReturnType<typeof start>>;
  before(async () => {
    writePlugin();
    write("sluice.json", declarative());
    node = await start("gateway");
  });
  after(() => node.process.stop());

  for (const [what, plugin, message] of refused)
    test(`after ${what}`, async () => {
      const { process, body } = node;
      const earlier = await body();
      if (typeof plugin === "string") write("words/schema.ts", plugin);
      else writePlugin({ version: "broken", ...plugin });
      process.signal("SIGHUP");
      await process.waitForOutput(message);
      assert.equal(await body(), earlier);
      writePlugin({ version: `after ${what}` });
      process.signal("SIGHUP");
      await waitFor(async () => (await body()) === `after ${what} hello`, { what: "the repaired code to be active" });
    });
});

test("a worker that ends while the files of a plugin are broken is replaced once the files are repaired; until then, the log and the status report the missing worker", async (context) => {
  writePlugin();
  write("sluice.json", declarative());
  const { process, proxy, workers, body } = await start("gateway", { SLUICE_WORKERS: "2" });
  context.after(() => process.stop());
  assert.deepEqual(await workers(), { configured: 2, running: 2 });
  write("words/schema.ts", "export default {;");
  process.signal("SIGHUP");
  await process.waitForOutput(/the plugins could not be loaded again/);
  await fetch(proxy, { headers: { "x-crash": "1", connection: "close" } }).catch(() => undefined);
  await process.waitForOutput(
    /words\/(schema|index)\.ts cannot be imported: SyntaxError.*"running":1,"configured":2.*a worker cannot start; the node tries again/,
  );
  assert.deepEqual([await workers(), await body()], [{ configured: 2, running: 1 }, "0 hello"]);
  writePlugin({ version: "1" });
  await waitFor(async () => (await workers()).running === 2, { what: "the second worker to start" });
  process.signal("SIGHUP");
  await process.waitForOutput(/the plugins were loaded again/);
  assert.equal(await body(), "1 hello");
});

test("after a reload, the admin API shows a plugin's config with the defaults of its new schema, and requests use them", async (context) => {
  writePlugin();
  write("sluice.json", declarative());
  const { process, admin, body } = await start("start", { SLUICE_FILE_WRITABLE: "true" });
  context.after(() => process.stop());
  writePlugin({ word: "new", members: "more: text({ description: 'More.', default: 'much' })" });
  process.signal("SIGHUP");
  await process.waitForOutput(/the plugins were loaded again/);
  const read = async (path: string) => (await fetch(`${admin}${path}`)).json();
  const { data } = Object(await read("/plugins"));
  const { config } = data.find(({ name }: { readonly name: string }) => name === "words");
  assert.deepEqual([config, await body()], [{ word: "new", more: "much" }, "0 new"]);
});

/** Starts `sluice dev` with the plugin. `body` sends a request and returns the body of the response. */
async function startDev(context: TestContext, args: readonly string[] = []) {
  const [proxy, status] = [await freePort(), await freePort()];
  const process = await startProcess(sluiceProgram, ["dev", "--plugin", "./words", ...args], {
    name: "sluice",
    ready: /is up with/,
    cwd: folder.path,
    env: { SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`, SLUICE_STATUS_LISTEN: `127.0.0.1:${status}` },
  });
  context.after(() => process.stop());
  return { process, body: async () => (await fetch(`http://127.0.0.1:${proxy}/path`)).text() };
}

describe("sluice dev", () => {
  test("loads a plugin again after each save, and keeps the earlier code after a save with a fault", async (context) => {
    writePlugin();
    write("sluice.json", declarative());
    const { process, body } = await startDev(context, ["--file", "sluice.json"]);
    assert.equal(await body(), "0 hello");
    write("words/schema.ts", "export default {\n;");
    await process.waitForOutput(/the earlier code stays active:\n.*cannot be imported: .*\/words\/schema\.ts:2\)/);
    assert.equal(await body(), "0 hello");
    writePlugin({ version: "1", word: "new" });
    await process.waitForOutput(/loaded \.\/words again/);
    assert.equal(await body(), "1 new");
  });

  test("loads a plugin again if it is saved while the node starts", async (context) => {
    // The first worker saves another version after it has read this one.
    const save = `import { writeFileSync } from "node:fs";
      import { isMainThread } from "node:worker_threads";
      if (!isMainThread && version === "0")
        writeFileSync(new URL("./version.ts", import.meta.url), 'export const version = "1";');`;
    writePlugin({ more: save });
    write("sluice.json", declarative());
    const { process, body } = await startDev(context, ["--file", "sluice.json"]);
    await process.waitForOutput(/loaded \.\/words again/);
    assert.equal(await body(), "1 hello");
  });

  test("sends requests to a service that answers with the request, if no file is given", async (context) => {
    writePlugin();
    const { body } = await startDev(context);
    const { method, url, headers } = JSON.parse(await body());
    assert.deepEqual([method, url, headers["x-words"]], ["GET", "/path", "0 hello"]);
  });
});
