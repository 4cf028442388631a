/** A node with a declarative file, for tests of access log and tracing. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { readSettings } from "@sluice/model";
import { pino } from "pino";
import { sendRequest } from "../../../../test/conformance/engine/client.ts";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { type Gateway, startGateway } from "../../node/start-gateway.ts";
import { gatewaySettings } from "../../settings/commands/gateway.ts";

export interface ObservedNode {
  readonly gateway: Gateway;
  /** A temporary folder of the node, removed after the test. */
  readonly folder: string;
  readonly send: (sent: Parameters<typeof sendRequest>[1]) => ReturnType<typeof sendRequest>;
  /** Stops the node. */
  readonly close: () => Promise<void>;
}

/** @param settings Environment variables; `FOLDER` in a value is replaced by the node's folder */
export async function startObservedNode(
  context: TestContext,
  { document, settings }: { readonly document: object; readonly settings: Readonly<Record<string, string>> },
): Promise<ObservedNode> {
  const folder = temporaryFolder("observed");
  const file = join(folder.path, "sluice.json");
  writeFileSync(file, JSON.stringify({ _format_version: "3.0", ...document }));
  const placed = Object.entries(settings).map(([name, value]) => [name, value.replace("FOLDER", folder.path)]);
  const read = readSettings(gatewaySettings, {
    SLUICE_SOURCE: "file",
    SLUICE_FILE: file,
    SLUICE_PROXY_LISTEN: "127.0.0.1:0",
    SLUICE_STATUS_LISTEN: "127.0.0.1:0",
    SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
    SLUICE_DRAIN_TIMEOUT: "10ms",
    ...Object.fromEntries(placed),
  });
  assert.ok(read.value, JSON.stringify(read.violations));
  const gateway = await startGateway({ settings: read.value, log: pino({ level: "silent" }) });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= gateway.close();
    return closed;
  };
  context.after(async () => {
    await close();
    folder.remove();
  });
  return { gateway, folder: folder.path, send: (sent) => sendRequest(gateway.proxy.port, sent), close };
}
