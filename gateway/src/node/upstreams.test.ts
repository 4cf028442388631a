/** Targets of upstreams through a whole node: their names, and outlier detection. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { readSettings } from "@sluice/model";
import { pino } from "pino";
import { sendRequest } from "../../../test/conformance/engine/client.ts";
import { portOf, startUpstream } from "../../../test/conformance/engine/proxy-rig.ts";
import { freePort, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { startDnsServer } from "../outbound/testing-dns.ts";
import { gatewaySettings } from "../settings/commands/gateway.ts";
import { startGateway } from "./start-gateway.ts";

/** A server that answers with its own address and the Host header of the request. */
async function startNamed(context: TestContext, address: string, port: number) {
  const server = createServer(({ headers }, response) => response.end(`${address} ${headers.host}`));
  server.listen(port, address);
  await once(server, "listening");
  context.after(() => server.close());
}

/** A node with a service for each upstream, whose route has the upstream's name as its path. */
async function startNode(
  context: TestContext,
  upstreams: readonly { readonly name: string }[],
  settings: Readonly<Record<string, string>>,
  service: object = {},
) {
  const folder = temporaryFolder("upstreams");
  const file = join(folder.path, "sluice.json");
  const services = upstreams.map(({ name }) => ({ name, host: name, ...service, routes: [{ paths: [`/${name}`] }] }));
  writeFileSync(file, JSON.stringify({ _format_version: "3.0", services, upstreams }));
  const read = readSettings(gatewaySettings, {
    SLUICE_SOURCE: "file",
    SLUICE_FILE: file,
    SLUICE_PROXY_LISTEN: "127.0.0.1:0",
    SLUICE_STATUS_LISTEN: "127.0.0.1:0",
    SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
    SLUICE_DRAIN_TIMEOUT: "10ms",
    ...settings,
  });
  assert.ok(read.value, JSON.stringify(read.violations));
  const node = await startGateway({ settings: read.value, log: pino({ level: "silent" }) });
  context.after(async () => {
    await node.close();
    folder.remove();
  });
  return node;
}

for (const [result, budget] of [
  ["sent", { percent: 100, min_concurrency: 10 }],
  ["over_budget", { percent: 0, min_concurrency: 0 }],
] as const)
  test(`a metric counts the attempts that are ${result}, by service`, async (context) => {
    const server = await startUpstream(context, (_request, response) => response.end());
    const [open, closed] = [portOf(server), await freePort()];
    const targets = [
      { target: `127.0.0.1:${open}`, weight: 1 },
      { target: `127.0.0.1:${closed}`, weight: 1 },
    ];
    const pool = { name: "pool", targets };
    const node = await startNode(context, [pool], {}, { retry_budget: budget });
    const statuses: number[] = [];
    for (let count = 0; count < 2; count++) {
      statuses.push((await sendRequest(node.proxy.port, { path: "/pool" })).status);
    }
    assert.deepEqual(statuses.toSorted(), result === "sent" ? [200, 200] : [200, 502]);
    const { body } = await sendRequest(node.status.port, { path: "/metrics" });
    const lines = body.split("\n").filter((line) => line.startsWith("sluice_upstream_retries_total{"));
    assert.deepEqual(lines, [`sluice_upstream_retries_total{service="pool",result="${result}",workspace="default"} 1`]);
  });

for (const workers of ["1", "2"]) {
  test(`a target that passive checks made unhealthy gets requests again after its ejection time (workers: ${workers})`, async (context) => {
    const answers = [500, 200];
    const server = await startUpstream(context, (_request, response) => {
      response.statusCode = answers.shift() ?? 200;
      response.end();
    });
    const upstreams = [
      {
        name: "pool",
        healthchecks: { passive: { unhealthy: { http_failures: 1 } } },
        outlier_detection: { base_ejection_time: 0.05, max_ejection_percent: 100 },
        targets: [{ target: `127.0.0.1:${portOf(server)}` }],
      },
    ];
    const node = await startNode(context, upstreams, { SLUICE_WORKERS: workers });
    const send = async () => (await sendRequest(node.proxy.port, { path: "/pool" })).status;
    assert.equal(await send(), 500);
    await waitFor(async () => (await send()) === 200, { what: "the end of the ejection" });
  });

  test(`each address and each SRV record of a target is a member of its upstream (workers: ${workers})`, async (context) => {
    const first = await startUpstream(context, ({ headers }, response) => response.end(`127.0.0.1 ${headers.host}`));
    const port = portOf(first);
    await startNamed(context, "127.0.0.2", port);
    const record = (name: string) => ({ name, port, weight: 1, priority: 1 });
    const dns = await startDnsServer(context, {
      "both.test": { A: ["127.0.0.1", "127.0.0.2"] },
      "_http._tcp.up.test": { SRV: [record("a.test"), record("b.test")] },
      "a.test": { A: ["127.0.0.1"] },
      "b.test": { A: ["127.0.0.2"] },
    });
    const upstreams = [
      { name: "addresses", targets: [{ target: `both.test:${port}` }] },
      { name: "records", targets: [{ target: "_http._tcp.up.test" }] },
      { name: "named", use_srv_name: true, targets: [{ target: "_http._tcp.up.test" }] },
    ];
    const node = await startNode(context, upstreams, { SLUICE_WORKERS: workers, SLUICE_DNS_RESOLVER: dns.address });
    // Every request has a connection of its own. Two workers may get them in any order.
    const seenAt = async (path: string) => {
      const bodies = new Set<string>();
      for (let count = 0; count < 40 && bodies.size < 2; count++) {
        bodies.add((await sendRequest(node.proxy.port, { path })).body);
      }
      return [...bodies].sort();
    };
    assert.deepEqual(await seenAt("/addresses"), [`127.0.0.1 both.test:${port}`, `127.0.0.2 both.test:${port}`]);
    const host = `_http._tcp.up.test:${port}`;
    assert.deepEqual(await seenAt("/records"), [`127.0.0.1 ${host}`, `127.0.0.2 ${host}`]);
    assert.deepEqual(await seenAt("/named"), [`127.0.0.1 a.test:${port}`, `127.0.0.2 b.test:${port}`]);
  });
}
