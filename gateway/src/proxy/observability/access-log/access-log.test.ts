import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { dial, receiveUntil } from "../../../../../test/conformance/engine/client.ts";
import { portOf, startUpstream } from "../../../../../test/conformance/engine/proxy-rig.ts";
import { type ObservedNode, startObservedNode } from "../testing-observed-node.ts";

const demo = { username: "demo", keyauth_credentials: [{ key: "demo-key" }] };
const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

async function startNode(context: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const upstream = await startUpstream(context, (incoming, response) =>
    incoming.resume().once("end", () => response.end("hello")),
  );
  const port = portOf(upstream);
  const service = {
    name: "up",
    url: `http://127.0.0.1:${port}`,
    routes: [
      { name: "open", paths: ["/open"] },
      { name: "guarded", paths: ["/guarded"], plugins: [{ name: "key-auth", config: { key_names: ["token"] } }] },
    ],
  };
  const document = { services: [service], consumers: [demo] };
  const log = { SLUICE_PROXY_ACCESS_LOG: "FOLDER/access.log" };
  return { port, node: await startObservedNode(context, { document, settings: { ...log, ...settings } }) };
}

interface Line {
  readonly [member: string]: unknown;
}

/** Stops the node and returns the lines that it wrote. */
async function linesOf({ close, folder }: ObservedNode, name = "access.log"): Promise<Line[]> {
  await close();
  const text = readFileSync(join(folder, name), "utf8");
  assert.ok(text === "" || text.endsWith("\n"));
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

for (const engine of ["http1", "reply-from"]) {
  test(`${engine}: the access log has a line of JSON for each exchange`, async (context) => {
    const { node, port } = await startNode(context, { SLUICE_ENGINE: engine });
    await node.send({
      method: "POST",
      path: "/guarded/things?token=demo-key&page=1",
      headers: { "User-Agent": "test/1", Traceparent: parent },
      body: "some",
    });
    const [{ time, request_id: id, bytes_in: read, bytes_out: written, latencies, ...line } = {}, ...others] =
      await linesOf(node);
    assert.equal(others.length, 0);
    assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 60_000);
    assert.match(String(id), /^[\da-f]{32}$/);
    assert.ok(Number(read) > 100 && Number(written) > 100, `${read} ${written}`);
    const { request, gateway, upstream } = latencies as Record<string, number>;
    assert.ok(Number(request) >= Number(gateway) + Number(upstream), JSON.stringify(latencies));
    assert.deepEqual(line, {
      log: "access",
      client: "127.0.0.1",
      method: "POST",
      path: "/guarded/things",
      status: 200,
      source: "service",
      route: "guarded",
      service: "up",
      consumer: "demo",
      target: `127.0.0.1:${port}`,
      tries: 1,
      user_agent: "test/1",
      trace_id: "0af7651916cd43dd8448eb211c80319c",
    });
  });

  test(`${engine}: the access log includes refused requests, with or without a route`, async (context) => {
    const { node } = await startNode(context, { SLUICE_ENGINE: engine, SLUICE_PROXY_ACCESS_LOG_QUERY: "on" });
    await node.send({ path: "/guarded" });
    await node.send({ path: "/nowhere?token=demo-key" });
    const socket = await dial(context, node.gateway.proxy.port);
    socket.write("GET /demo-key HTTP/1.1\r\nHost : a\r\n\r\n");
    await receiveUntil(socket, "\r\n\r\n");
    const lines = (await linesOf(node)).map(({ client, method, path, status, source, route, target }) =>
      [client, method, path, status, source, route, target].join(" ").trim(),
    );
    assert.deepEqual(lines, [
      "127.0.0.1 GET /guarded 401 gateway guarded",
      "127.0.0.1 GET /nowhere 404 gateway",
      "127.0.0.1   400 gateway",
    ]);
  });
}

test("queries are logged if configured, and keys are never logged", async (context) => {
  const { node } = await startNode(context, { SLUICE_PROXY_ACCESS_LOG_QUERY: "on" });
  const queries = [
    "?token=demo-key&page=1",
    "?a=b&TOKEN=demo-key",
    "?%74oken[]=demo-key",
    "?%zz=demo-key",
    "?page=2;token=demo-key;a=b",
    "?page=2;ToKeN=demo-key",
    "?page=2",
    "?",
  ];
  for (const query of queries) await node.send({ path: `/open${query}` });
  assert.deepEqual(
    (await linesOf(node)).map(({ path }) => path),
    [
      "/open?token=[redacted]&page=1",
      "/open?a=b&TOKEN=[redacted]",
      "/open?%74oken[]=[redacted]",
      "/open?%zz=[redacted]",
      "/open?page=2;token=[redacted];a=b",
      "/open?page=2;ToKeN=[redacted]",
      "/open?page=2",
      "/open",
    ],
  );
});

test("in a line of the access log, the length of values that clients send is limited", async (context) => {
  const { node } = await startNode(context);
  await node.send({ path: `/open/${"x".repeat(5000)}`, headers: { "User-Agent": `"\\\u00e9${"y".repeat(5000)}` } });
  const [line = {}] = await linesOf(node);
  assert.deepEqual([String(line.path).length, String(line.user_agent).length], [1025, 257]);
});

test("several workers write whole lines to one file", async (context) => {
  const { node } = await startNode(context, { SLUICE_WORKERS: "2" });
  const paths = Array.from({ length: 200 }, (_, at) => `/open/${at}`);
  await Promise.all(paths.map((path) => node.send({ path })));
  assert.deepEqual((await linesOf(node)).map(({ path }) => path).toSorted(), paths.toSorted());
});

for (const workers of ["1", "2"]) {
  test(`the access log continues in a new file once the old file was moved away and the logs are reopened, with ${workers} worker(s)`, async (context) => {
    const { node } = await startNode(context, { SLUICE_WORKERS: workers });
    const file = join(node.folder, "access.log");
    await node.send({ path: "/open/1" });
    renameSync(file, `${file}.1`);
    node.gateway.reopenLogs?.();
    while (!readdirSync(node.folder).includes("access.log")) await new Promise((resolve) => setImmediate(resolve));
    const later = Array.from({ length: 20 }, (_, at) => `/open/${at + 2}`);
    for (const path of later) await node.send({ path });
    const after = await linesOf(node);
    const before = await linesOf(node, "access.log.1");
    const paths = [...before, ...after].map(({ path }) => path);
    const sent = ["/open/1", ...later];
    // Each worker reopens the file and writes its batches on its own, so the order among workers is not fixed.
    if (workers === "1") assert.deepEqual(paths, sent);
    else assert.deepEqual(paths.toSorted(), sent.toSorted(), "no line is lost or duplicated");
    assert.ok(after.some(({ path }) => path !== "/open/1"));
  });
}

test("the node does not start when the access log cannot be opened", async (context) => {
  await assert.rejects(startNode(context, { SLUICE_PROXY_ACCESS_LOG: "FOLDER/no/such/file" }), { code: "ENOENT" });
});
