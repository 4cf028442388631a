/** A node that gets a document with listeners from an operator. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:http2";
import { test } from "node:test";
import { type Change, type DocumentListener, type NodeReport, readSettings } from "@sluice/model";
import { pino } from "pino";
import { send } from "../../../test/conformance/engine/client.ts";
import { closedPort, portOf, startUpstream } from "../../../test/conformance/engine/proxy-rig.ts";
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

test("a node opens and closes the ports of pushed listeners, and reports those that it cannot open", async (context) => {
  const read = readSettings(gatewaySettings, {
    SLUICE_PROXY_LISTEN: "127.0.0.1:0",
    SLUICE_STATUS_LISTEN: "127.0.0.1:0",
    SLUICE_PUSH_TOKEN: "t0ken",
    SLUICE_WORKERS: "1",
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
  const statusOf = (port: number) => send(port).then(({ status }) => status);

  const [taken, free] = [portOf(await startUpstream(context, () => {})), await closedPort(context)];
  const routes = [{ ...route, _sluice: { priority: 1, listeners: ["web", "busy"] } }];
  const listeners = [listener("web", free), listener("busy", taken)];
  const { hash, failedListeners } = await push("PUT", {
    document: { _format_version: "3.0", routes, _sluice: { listeners } },
  });
  const reason = `the port ${taken} is in use by another process or by another listener of the node`;
  const failed = [{ name: "busy", port: taken, reason }];
  assert.deepEqual(failedListeners, failed);
  const { sluice } = JSON.parse((await send(node.status.port, { path: "/status" })).body);
  assert.deepEqual(sluice.failed_listeners, failed);
  // The route has no service.
  assert.deepEqual([await statusOf(free), await statusOf(node.proxy.port)], [503, 404]);
  // Clients of gRPC use HTTP/2 without TLS there, whatever SLUICE_PROXY_HTTP2 is.
  assert.equal(await http2Status(free), 503);
  const change: Change = { put: {}, remove: {}, listeners: { web: null, busy: null } };
  assert.equal((await push("PATCH", { base: hash, change })).failedListeners, undefined);
  await assert.rejects(send(free), { code: "ECONNREFUSED" });
});
