/** A node for tests, over a declarative file with one service. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { readSettings } from "@sluice/model";
import { pino } from "pino";
import { type Received, type Sent, sendRequest } from "../../../test/conformance/engine/client.ts";
import { portOf, startUpstream } from "../../../test/conformance/engine/proxy-rig.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { gatewaySettings } from "../settings/commands/gateway.ts";
import { type Gateway, startGateway } from "./start-gateway.ts";

interface ReportedNode {
  readonly gateway: Gateway;
  readonly port: number;
  readonly send: (sent: Sent) => Promise<Received>;
  readonly metrics: () => Promise<string>;
  /** The status listener's response for a path. */
  readonly getStatus: (path: string) => Promise<Received>;
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** Replaces the node's declarative file. */
  readonly write: (text: string) => void;
}

/** A node in front of an upstream that reports the headers and target of every request, including upgrades. */
export async function startReportedNode(
  context: TestContext,
  {
    service,
    settings = {},
    ...rest
  }: {
    service: object;
    consumers?: object[];
    consumer_groups?: object[];
    plugins?: object[];
    upstreams?: object[];
    certificates?: object[];
    settings?: Record<string, string>;
  },
): Promise<ReportedNode> {
  const tell = ({ url, headers }: { url?: string; headers: object }) => JSON.stringify({ url, headers });
  const upstream = await startUpstream(context, (incoming, response) => response.end(tell(incoming)));
  upstream.on("upgrade", (incoming, socket) => {
    socket.end(`HTTP/1.1 101 OK\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${tell(incoming)}`);
  });
  const folder = temporaryFolder("node");
  const file = join(folder.path, "sluice.json");
  const url = `http://127.0.0.1:${portOf(upstream)}`;
  writeFileSync(file, JSON.stringify({ _format_version: "3.0", services: [{ name: "up", url, ...service }], ...rest }));
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
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const node = await startGateway({ settings: read.value, log });
  context.after(async () => {
    await node.close();
    folder.remove();
  });
  return {
    gateway: node,
    port: node.proxy.port,
    send: (sent) => sendRequest(node.proxy.port, sent),
    metrics: async () => (await sendRequest(node.status.port, { path: "/metrics" })).body,
    getStatus: (path) => sendRequest(node.status.port, { path }),
    log: lines,
    write: (text) => writeFileSync(file, text),
  };
}
