/**
 * Endpoints of plugins, and explanations of requests, in an admin listener without a node in its process: each request
 * to a plugin reaches every node, and so does a request to explain.
 */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ExplainingNode } from "@sluice/model";
import { request } from "undici";
import { builtProgram } from "../../tools/build/programs.ts";
import { freePort, type Process, startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";
import { startPostgres } from "../../tools/programs/servers/postgres.ts";
import { startNamedUpstream } from "./client.ts";

const gateway = await builtProgram("gateway");
const folder = temporaryFolder("plugin-endpoints");
after(folder.remove);

const freeAddress = async () => `127.0.0.1:${await freePort()}`;

/** Settings with which the nodes and the admin listener share one configuration. */
interface Backend {
  readonly node: (push: string) => Readonly<Record<string, string>>;
  readonly admin: Readonly<Record<string, string>>;
  /** Called when the nodes run, with the addresses of their push listeners. */
  readonly start: (pushes: readonly string[]) => Promise<void>;
}

async function customResources(): Promise<Backend> {
  const directory = join(folder.path, "resources");
  mkdirSync(directory);
  const [operator, token, pushToken] = [await freeAddress(), "operator-token-of-the-test", "push-token-of-the-test"];
  return {
    node: (push) => ({ SLUICE_PUSH_LISTEN: push, SLUICE_PUSH_TOKEN: pushToken }),
    admin: {
      SLUICE_STORE: "directory",
      SLUICE_DIRECTORY: directory,
      SLUICE_OPERATOR_URL: `http://${operator}`,
      SLUICE_OPERATOR_TOKEN: token,
    },
    async start(pushes) {
      await started(await builtProgram("operator"), [], `http://${operator}/readyz`, {
        SLUICE_DIRECTORY: directory,
        SLUICE_OPERATOR_LISTEN: operator,
        SLUICE_OPERATOR_TOKEN: token,
        SLUICE_NODES: pushes.map((push) => `http://${push}`).join(","),
        SLUICE_PUSH_TOKEN: pushToken,
      });
    },
  };
}

async function database(): Promise<Backend> {
  const postgres = await startPostgres();
  after(() => postgres.stop());
  const { hostname, port, username, password } = new URL(postgres.url);
  const settings = {
    SLUICE_DATABASE: "postgres",
    SLUICE_PG_HOST: hostname,
    SLUICE_PG_PORT: port,
    SLUICE_PG_USER: username,
    SLUICE_PG_PASSWORD: password,
    SLUICE_PG_DATABASE: "postgres",
  };
  const bootstrap = await startProcess(gateway, ["migrations", "bootstrap"], { name: "bootstrap", env: settings });
  assert.equal((await bootstrap.ended()).code, 0);
  return {
    node: () => ({ ...settings, SLUICE_SOURCE: "database" }),
    admin: { ...settings, SLUICE_STORE: "database" },
    start: async () => {},
  };
}

async function started(
  file: string,
  args: readonly string[],
  ready: string,
  env: Readonly<Record<string, string>>,
): Promise<Process> {
  const options = { name: args[0] ?? "operator", env: { ...env, SLUICE_LOG_LEVEL: "error" }, ready: new URL(ready) };
  const process = await startProcess(file, args, options);
  after(() => process.stop());
  return process;
}

for (const [what, open] of [
  ["over custom resources", customResources],
  ["over a database", database],
] as const)
  test(`${what}, cached responses are found and removed on every node, and a node that does not answer is named; every node explains a request, or is named, and every node reports its recent requests; the log level of every node is changed and shown`, async () => {
    const upstream = await startNamedUpstream("cached");
    after(() => upstream.close());
    const backend = await open();
    const starting = ["one", "two"].map(async () => {
      const [proxy, status, push] = [await freeAddress(), await freeAddress(), await freeAddress()];
      const env = {
        ...backend.node(push),
        SLUICE_PROXY_LISTEN: proxy,
        SLUICE_STATUS_LISTEN: status,
        SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      };
      return { proxy, push, status, process: await started(gateway, ["gateway"], `http://${status}/status/live`, env) };
    });
    const [one, two] = await Promise.all(starting);
    assert.ok(one && two);
    await backend.start([one.push, two.push]);
    const admin = await freeAddress();
    await started(gateway, ["admin"], `http://${admin}/status`, { ...backend.admin, SLUICE_ADMIN_LISTEN: admin });

    async function send(method: string, path: string, given?: object) {
      const response = await fetch(`http://${admin}${path}`, {
        method,
        ...(given && { headers: { "content-type": "application/json" }, body: JSON.stringify(given) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === "" ? null : JSON.parse(text) };
    }
    /** The cache's headers in a node's response. Both nodes have the same key, because the host is always the same. */
    async function cacheOf({ proxy }: { readonly proxy: string }) {
      const { headers, body } = await request(`http://${proxy}/`, { headers: { host: "cached.test" } });
      await body.dump();
      return { state: headers["x-cache-status"], key: headers["x-cache-key"] };
    }
    const statesOf = async () => [(await cacheOf(one)).state, (await cacheOf(two)).state];

    await send("POST", "/services", { name: "up", url: `http://127.0.0.1:${upstream.port}` });
    await send("POST", "/services/up/routes", { name: "all", paths: ["/"] });
    const config = { strategy: "memory", content_type: ["application/json"] };
    const { body: plugin } = await send("POST", "/plugins", { name: "proxy-cache", config });
    await waitFor(async () => (await cacheOf(one)).state === "Hit", { what: "the first node to cache" });
    await waitFor(async () => (await cacheOf(two)).state === "Hit", { what: "the second node to cache" });
    const { key } = await cacheOf(one);

    assert.equal((await send("GET", `/proxy-cache/${key}`)).status, 200);
    assert.equal((await send("DELETE", `/proxy-cache/${plugin.id}/caches/${key}`)).status, 204);
    assert.equal((await send("GET", `/proxy-cache/${key}`)).status, 404);
    assert.deepEqual(await statesOf(), ["Miss", "Miss"]);
    assert.equal((await send("DELETE", "/proxy-cache")).status, 204);
    assert.equal((await cacheOf(two)).state, "Miss");
    const found = await send("GET", `/plugins/${plugin.id}/caches/${key}`);
    assert.equal(found.status, 200, "one node that has the response is enough");
    assert.equal(found.body.status, 200);

    const described = { url: "http://cached.test/x" };
    const explained = await send("POST", "/explain", described);
    assert.equal(explained.status, 200, JSON.stringify(explained.body));
    const { route, upstream: forwarded, response, nodes } = explained.body;
    assert.deepEqual([route.name, forwarded.target, response], ["all", `127.0.0.1:${upstream.port}`, null]);
    assert.deepEqual(
      nodes.map(({ unanswered, differences }: ExplainingNode) => [unanswered, differences]),
      [
        [null, []],
        [null, []],
      ],
    );
    assert.equal((await send("POST", "/explain", { url: "x" })).status, 400);

    const granted = await send("POST", "/debug-tokens", { lifetime: 60 });
    assert.deepEqual([granted.status, granted.body.nodes.length, granted.body.unanswered], [201, 2, []]);
    for (const { proxy } of [one, two]) {
      const headers = { host: "cached.test", "x-sluice-debug": granted.body.token };
      const timed = await request(`http://${proxy}/`, { headers });
      await timed.body.dump();
      assert.match(String(timed.headers["server-timing"]), /^route;desc="all", service;desc="up", plugin-proxy-cache;/);
      // A malformed path is refused before a route matches.
      await (await request(`http://${proxy}/%`)).body.dump();
    }
    const { body: recent } = await send("GET", "/requests?status=400");
    const refusedAt = recent.data.map(({ node }: { readonly node: string }) => /:(\d+)$/.exec(node)?.[1]);
    const addressOf = (node: typeof one) => new URL(`http://${what === "over a database" ? node.status : node.push}`);
    assert.deepEqual(refusedAt.toSorted(), [one, two].map((node) => addressOf(node).port).toSorted());
    const { body: used } = await send("GET", "/usage/routes");
    assert.deepEqual([used.data[0].name, used.total, used.nodes.length], ["all", 1, 2]);
    assert.ok(used.data[0].last_used_at > Date.now() / 1000 - 600, JSON.stringify(used));

    const levels = async () => Object.values((await send("GET", "/debug/cluster/log-level")).body.nodes);
    assert.deepEqual(await levels(), ["error", "error"]);
    const changed = await send("PUT", "/debug/cluster/log-level/debug?timeout=600");
    assert.deepEqual([changed.status, changed.body], [200, { message: "log level changed" }]);
    assert.deepEqual(await levels(), ["debug", "debug"]);
    for (const node of [one, two]) await node.process.waitForOutput(/the log level was changed/);

    await cacheOf(one);
    process.kill(two.process.pid, "SIGSTOP");
    const [partly, unchanged] = await Promise.all([
      send("DELETE", "/proxy-cache"),
      send("PUT", "/debug/cluster/log-level/debug?timeout=0"),
    ]);
    assert.equal(unchanged.status, 503);
    assert.match(unchanged.body.message, /^the level was changed on the other nodes; these nodes did not answer: /);
    const partial = await send("POST", "/explain", described);
    assert.equal(partial.status, 200, "one node that answers is enough");
    const { node, nodes: asked, warnings } = partial.body;
    assert.deepEqual(
      asked.filter(({ unanswered }: ExplainingNode) => unanswered === null).map(({ node }: ExplainingNode) => node),
      [node],
    );
    assert.match(warnings.join("\n"), /the node \S+ has not explained the request: /);
    process.kill(one.process.pid, "SIGSTOP");
    const unexplained = await send("POST", "/explain", described);
    process.kill(one.process.pid, "SIGCONT");
    process.kill(two.process.pid, "SIGCONT");
    assert.equal(unexplained.status, 503);
    for (const node of [one, two])
      assert.match(unexplained.body.message, new RegExp(`^no node has answered: .*:${addressOf(node).port} `));
    assert.equal(partly.status, 503);
    const { port } = addressOf(two);
    assert.match(partly.body.message, new RegExp(`^done on the nodes that answered; .*:${port} \\(`));
    assert.equal((await cacheOf(one)).state, "Miss");
  });
