/** A node that gets a document with listeners from an operator. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { type Change, type DocumentListener, type NodeReport, readSettings } from "@sluice/model";
import { pino } from "pino";
import { sendRequest } from "../../../test/conformance/engine/client.ts";
import { listen, portOf, startUpstream } from "../../../test/conformance/engine/proxy-rig.ts";
import { freePort, temporaryFolder } from "../../../tools/process/index.ts";
import { gatewaySettings } from "../settings/commands/gateway.ts";
import { createPushSource } from "../sources/push/push-source.ts";
import { startGateway } from "./start-gateway.ts";

const route = { id: "00000000-0000-4000-8000-000000000001", name: "r", paths: ["/"] };
const listener = (name: string, port: number): DocumentListener => ({ name, port, public_port: 80, protocol: "http" });

/** The status of the response to an HTTP/2 request without TLS. */
async function http2Status(port: number): Promise<unknown> {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const [headers] = await once(session.request({ ":path": "/" }), "response");
    return headers[":status"];
  } finally {
    session.destroy();
  }
}

/** A node, and a function that pushes documents to it. */
async function startPushed(context: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const read = readSettings(gatewaySettings, {
    SLUICE_PROXY_LISTEN: "127.0.0.1:0",
    SLUICE_STATUS_LISTEN: "127.0.0.1:0",
    SLUICE_PUSH_TOKEN: "t0ken",
    SLUICE_WORKERS: "1",
    ...settings,
  });
  assert.ok(read.value, JSON.stringify(read.violations));
  const source = createPushSource({ listen: { host: "127.0.0.1", port: 0 }, token: "t0ken" });
  const node = await startGateway({ settings: read.value, log: pino({ level: "silent" }), source: () => source });
  context.after(() => node.close());
  let revision = 0;
  async function push(method: "PUT" | "PATCH", content: object): Promise<NodeReport> {
    const response = await fetch(`http://127.0.0.1:${source.address().port}/document`, {
      method,
      headers: { authorization: "Bearer t0ken", "content-type": "application/json" },
      body: JSON.stringify({ term: 1, revision: ++revision, ...content }),
    });
    assert.equal(response.status, 200, JSON.stringify(response));
    return (await response.json()) as NodeReport;
  }
  return { node, push };
}

test("a node opens and closes the ports of pushed listeners, and reports those that it cannot open", async (context) => {
  const { node, push } = await startPushed(context);
  const statusOf = (port: number) => sendRequest(port).then(({ status }) => status);

  const [taken, free] = [portOf(await startUpstream(context, () => {})), await freePort()];
  const routes = [{ ...route, _sluice: { priority: 1, listeners: ["web", "busy"] } }];
  const listeners = [listener("web", free), listener("busy", taken)];
  const { hash, failedListeners } = await push("PUT", {
    document: { _format_version: "3.0", routes, _sluice: { listeners } },
  });
  const reason = `the port ${taken} is in use by another process or by another listener of the node`;
  const failed = [{ name: "busy", port: taken, reason }];
  assert.deepEqual(failedListeners, failed);
  const { sluice } = JSON.parse((await sendRequest(node.status.port, { path: "/status" })).body);
  assert.deepEqual(sluice.failed_listeners, failed);
  // The route has no service.
  assert.deepEqual([await statusOf(free), await statusOf(node.proxy.port)], [503, 404]);
  // Clients of gRPC use HTTP/2 without TLS there, whatever SLUICE_PROXY_HTTP2 is.
  assert.equal(await http2Status(free), 503);
  const change: Change = { put: {}, remove: {}, listeners: { web: null, busy: null } };
  assert.equal((await push("PATCH", { base: hash, change })).failedListeners, undefined);
  await assert.rejects(sendRequest(free), { code: "ECONNREFUSED" });
});

test("the access log has a line for each connection of a TLS listener, with the reason as a status", async (context) => {
  const folder = temporaryFolder("streams");
  context.after(folder.remove);
  const file = join(folder.path, "access.log");
  const { node, push } = await startPushed(context, {
    SLUICE_PROXY_ACCESS_LOG: file,
    SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
  });
  const backend = await listen(
    context,
    createServer((socket) => socket.on("error", () => {}).destroy()),
  );
  const port = await freePort();
  const service = { id: "00000000-0000-4000-8000-000000000002", name: "s", url: `http://127.0.0.1:${portOf(backend)}` };
  const tls = {
    ...{ id: route.id, name: "r", protocols: ["tls_passthrough"], hosts: ["*.a.example"] },
    ...{ service: { id: service.id }, _sluice: { listeners: ["tls"] } },
  };
  const listeners = [{ name: "tls", port, public_port: 443, protocol: "tls_passthrough" }];
  await push("PUT", {
    document: { _format_version: "3.0", services: [service], routes: [tls], _sluice: { listeners } },
  });
  for (const servername of ["x.a.example", "b.example"]) {
    const socket = connectTls({ host: "127.0.0.1", port, servername });
    await new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
  }
  const metrics = (await sendRequest(node.status.port, { path: "/metrics" })).body;
  for (const [service, name, code, source] of [
    ["s", "r", 200, "service"],
    ["", "", 404, "gateway"],
  ])
    assert.match(
      metrics,
      new RegExp(
        `^sluice_stream_sessions_total{service="${service}",route="${name}",code="${code}",source="${source}",workspace="default"} 1$`,
        "m",
      ),
    );
  assert.match(metrics, /^sluice_bandwidth_bytes{service="s",route="r",direction="ingress",.*} \d{3,}$/m);
  await node.close();
  const lines = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const [first, second, ...others] = lines.toSorted((one, other) => one.status - other.status);
  assert.deepEqual(others, []);
  const { time, request_id, bytes_in, bytes_out, latencies, ...joined } = first;
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000);
  assert.match(request_id, /^[\da-f]{32}$/);
  assert.ok(bytes_in > 100 && bytes_out === 0 && latencies.request >= latencies.gateway, JSON.stringify(first));
  assert.deepEqual(joined, {
    log: "access",
    client: "127.0.0.1",
    protocol: "tls_passthrough",
    server_name: "x.a.example",
    status: 200,
    source: "service",
    route: "r",
    service: "s",
    target: `127.0.0.1:${portOf(backend)}`,
    tries: 1,
  });
  assert.deepEqual(
    [second.server_name, second.status, second.source, second.route],
    ["b.example", 404, "gateway", undefined],
  );
});

for (const workers of ["1", "2"])
  test(`a node with ${workers} workers answers 503 until its first document arrives, and 404 once this is empty`, async (context) => {
    const { node, push } = await startPushed(context, { SLUICE_WORKERS: workers });
    const answer = async () => {
      const { status, body } = await sendRequest(node.proxy.port);
      return [status, JSON.parse(body).message];
    };
    assert.deepEqual(await answer(), [503, "no configuration is available yet"]);
    await push("PUT", { document: { _format_version: "3.0" } });
    for (let count = 0; count < 8; count++)
      assert.deepEqual(await answer(), [404, "no Route matched with those values"]);
  });
