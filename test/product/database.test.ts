/** Several processes over one Postgres: two nodes and an admin listener. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { migrations } from "../../gateway/src/database/migrations/index.ts";
import { builtProgram } from "../../tools/build/programs.ts";
import { freePort, type Process, startProcess, waitFor } from "../../tools/process/index.ts";
import { type Postgres, startPostgres } from "../../tools/programs/servers/postgres.ts";
import { type NamedUpstream, startNamedUpstream } from "./client.ts";

const main = await builtProgram("gateway");

describe("several processes over one Postgres", () => {
  let postgres: Postgres;
  let upstream: NamedUpstream;
  let database: Readonly<Record<string, string>>;
  const running: Process[] = [];

  before(async () => {
    postgres = await startPostgres();
    const { hostname, port, username, password } = new URL(postgres.url);
    database = {
      SLUICE_DATABASE: "postgres",
      SLUICE_PG_HOST: hostname,
      SLUICE_PG_PORT: port,
      SLUICE_PG_USER: username,
      SLUICE_PG_PASSWORD: password,
      SLUICE_PG_DATABASE: "postgres",
      SLUICE_PG_TIMEOUT: "1s",
    };
    upstream = await startNamedUpstream("hello");
  });
  after(async () => {
    await Promise.all(running.map((one) => one.stop()));
    await upstream.close();
    await postgres.stop();
  });

  interface Node {
    readonly proxy: string;
    readonly status: string;
  }

  async function startNode(name: string): Promise<Node> {
    const [proxy, status] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    const env = {
      ...database,
      SLUICE_SOURCE: "database",
      SLUICE_PROXY_LISTEN: proxy,
      SLUICE_STATUS_LISTEN: status,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      SLUICE_LOG_LEVEL: "warn",
    };
    const ready = new URL(`http://${status}/status/ready`);
    running.push(await startProcess(main, ["gateway"], { name, env, ready }));
    return { proxy: `http://${proxy}`, status: `http://${status}` };
  }

  const run = async (...args: readonly string[]) => {
    const started = await startProcess(main, args, {
      name: args.join(" "),
      env: { ...database, SLUICE_SOURCE: "database" },
    });
    const { code } = await started.ended();
    return { code, said: started.output() };
  };

  test("nodes need a bootstrapped database, apply the admin listener's writes and rollbacks, share the counts of rate limits, and keep serving without the database", async () => {
    const early = await run("gateway");
    assert.equal(early.code, 1);
    assert.match(early.said, /^sluice: the database needs bootstrapping: run `sluice migrations bootstrap`$/m);
    const both = await Promise.all([run("migrations", "bootstrap"), run("migrations", "bootstrap")]);
    assert.deepEqual(both.map(({ said }) => said.trim()).sort(), [
      "database already bootstrapped",
      `database bootstrapped: ${migrations.map(({ name }) => name).join(", ")}`,
    ]);

    const nodes = [await startNode("one"), await startNode("two")];
    const listen = `127.0.0.1:${await freePort()}`;
    const env = { ...database, SLUICE_STORE: "database", SLUICE_ADMIN_LISTEN: listen, SLUICE_LOG_LEVEL: "error" };
    const ready = new URL(`http://${listen}/`);
    running.push(await startProcess(main, ["admin"], { name: "admin", env, ready }));
    const write = (method: string, path: string, body?: object) =>
      fetch(`http://${listen}${path}`, {
        method,
        ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
      });
    const get = async ({ proxy }: Node, path: string) => (await fetch(`${proxy}${path}`)).status;

    const url = `http://127.0.0.1:${upstream.port}`;
    await write("POST", "/services", { name: "hello", url });
    const made = await write("POST", "/services/hello/routes", { name: "hello", paths: ["/hello"] });
    assert.equal(made.status, 201);
    assert.equal(made.headers.get("x-sluice-programmed"), "true");
    assert.deepEqual(await Promise.all(nodes.map((node) => get(node, "/hello"))), [200, 200]);

    // A window of a year, because the end of a window during the test would reset the count.
    const config = { year: 3, policy: "cluster" };
    const limited = await write("POST", "/routes/hello/plugins", { name: "rate-limiting", config });
    assert.equal(limited.headers.get("x-sluice-programmed"), "true");
    const { id } = (await limited.json()) as { id: string };
    const statuses = await Promise.all([...nodes, ...nodes, ...nodes].map((node) => get(node, "/hello")));
    assert.deepEqual(statuses.sort(), [200, 200, 200, 429, 429, 429]);
    await write("DELETE", `/plugins/${id}`);

    const { data } = (await (await write("GET", "/revisions?size=1")).json()) as { data: { number: number }[] };
    await write("DELETE", "/routes/hello");
    assert.deepEqual(await Promise.all(nodes.map((node) => get(node, "/hello"))), [404, 404]);
    const restored = await write("POST", `/revisions/${data[0]?.number}/rollback`);
    assert.equal(restored.headers.get("x-sluice-programmed"), "true");
    assert.deepEqual(await Promise.all(nodes.map((node) => get(node, "/hello"))), [200, 200]);

    await postgres.stop();
    for (const node of nodes) {
      const statusText = async () => JSON.stringify(await (await fetch(`${node.status}/status`)).json());
      await waitFor(async () => /"trouble":"the database at .* does not answer/.test(await statusText()), {
        what: "the status to report the database",
      });
      assert.equal(await get(node, "/hello"), 200);
      assert.equal((await fetch(`${node.status}/status/ready`)).status, 200);
    }
    const refused = await write("POST", "/services", { name: "late", url });
    assert.ok(refused.status >= 500, `${refused.status}`);
    await waitFor(async () => (await (await fetch(`http://${listen}/status`)).text()).includes('"reachable":false'), {
      what: "the admin listener to report the database",
    });
  });
});
