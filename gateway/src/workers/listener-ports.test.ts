import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { applyChange, type DocumentListener, type Snapshot } from "@sluice/model";
import { sendRequest } from "../../../test/conformance/engine/client.ts";
import { listen, portOf } from "../../../test/conformance/engine/proxy-rig.ts";
import { freePort, waitFor } from "../../../tools/process/index.ts";
import type { DocumentPort, PortFailure } from "../proxy/listener/document-ports.ts";
import { ListenerPorts } from "./listener-ports.ts";
import { snapshotOfDocument, startTestPool, startUpstreamUrl } from "./threads/testing-worker-pool.ts";

const listener = (name: string, port: number, members: Partial<DocumentListener> = {}): DocumentListener => ({
  name,
  port,
  public_port: 80,
  protocol: "http",
  ...members,
});
const byName = (...all: readonly DocumentListener[]) => new Map(all.map((one) => [one.name, one]));

function followed(open: (ports: readonly DocumentPort[]) => readonly PortFailure[]) {
  const lines: object[] = [];
  const log = { warn: (details: object) => void lines.push(details) };
  const ports = new ListenerPorts({ open: async (all) => open(all), ownPorts: () => [8000], log, retryInterval: 1 });
  return { ports, lines };
}

test("listeners that contradict another one, or have a port of the node itself, are reported and not opened", async () => {
  const opened: number[] = [];
  const { ports, lines } = followed((all) => {
    opened.push(...all.map(({ port }) => port));
    return [];
  });
  await ports.openListeners(
    byName(
      listener("b", 9000),
      listener("a", 9000),
      listener("c", 9000, { protocol: "https", hostname: "c.example" }),
      listener("d", 9000, { hostname: "d.example" }),
      listener("own", 8000),
    ),
  );
  const failed = [
    { name: "b", port: 9000, reason: "the listener a has the same port and hostname" },
    { name: "c", port: 9000, reason: "the port 9000 has listeners with the protocol http" },
    { name: "own", port: 8000, reason: "the port 8000 belongs to one of the node's own listeners" },
  ];
  assert.deepEqual([opened, ports.failed], [[9000], failed]);
  assert.equal(lines.length, 3);
});

test("a port that cannot be opened is tried again until it is free, and logged once", async () => {
  let attempts = 0;
  const { ports, lines } = followed(() => (++attempts < 4 ? [{ port: 9000, code: "EADDRINUSE" }] : []));
  const listeners = byName(listener("a", 9000));
  await ports.openListeners(listeners);
  await ports.openListeners(listeners);
  const reason = "the port 9000 is in use by another process or by another listener of the node";
  assert.deepEqual([attempts, ports.failed], [1, [{ name: "a", port: 9000, reason }]]);
  await waitFor(() => ports.failed.length === 0, { what: "the port to be opened" });
  assert.deepEqual([attempts, lines.length], [4, 1]);
});

test("all workers open the ports of a document, also those that start later, and report ports of other processes", async (context) => {
  const { pool } = await startTestPool(context);
  const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
  const routes = [{ name: "r", paths: ["/"], _sluice: { priority: 1, listeners: ["web"] } }];
  const base = snapshotOfDocument({ services: [{ name: "up", url, routes }] });
  const web = listener("web", await freePort());
  const busy = listener("busy", portOf(await listen(context, createServer())));
  const withListeners = (...all: readonly DocumentListener[]): Snapshot => {
    const changed = applyChange(base, { put: {}, remove: {}, listeners: Object.fromEntries(byName(...all)) });
    return changed.value ?? assert.fail(JSON.stringify(changed.violations));
  };
  await pool.serve(withListeners(web, busy));
  assert.deepEqual(
    pool.failedListeners().map(({ name }) => name),
    ["busy"],
  );
  assert.equal((await sendRequest(web.port)).status, 200);
  assert.equal((await sendRequest(pool.address.port)).status, 404);
  await Promise.all(pool.threads().map((thread) => thread.terminate()));
  await waitFor(() => pool.threads().length === 2 && pool.unavailableReason() === null, { what: "new workers" });
  assert.equal((await sendRequest(web.port)).status, 200);
  await pool.serve(withListeners());
  assert.deepEqual(pool.failedListeners(), []);
  await assert.rejects(sendRequest(web.port), { code: "ECONNREFUSED" });
});
