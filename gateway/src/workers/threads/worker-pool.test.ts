import assert from "node:assert/strict";
import { mkdir, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { describe, it, test } from "node:test";
import { adoptChange, emptySnapshot } from "@sluice/model";
import type { Counter } from "@sluice/plugin-sdk";
import { dial, sendRequest } from "../../../../test/conformance/engine/client.ts";
import { temporaryFolder, waitFor } from "../../../../tools/process/index.ts";
import type { MetricsPart } from "../../metrics/slices.ts";
import {
  blockOneThread,
  sharedTestPool,
  snapshotOfDocument,
  startTestPool,
  startUpstreamUrl,
} from "./testing-worker-pool.ts";
import type { WorkerPool } from "./worker-pool.ts";

const many = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, at) => make(at));

const routed = (url: string, more: object = {}) =>
  snapshotOfDocument({ services: [{ name: "up", url, routes: [{ name: "r", paths: ["/"] }], ...more }] });

/**
 * Clients with one connection each, which stays open. `ask` sends one request per client, and resolves to the statuses
 * and error codes.
 */
function clientsOf({ address: { port } }: WorkerPool, count: number) {
  const agents = many(count, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const ask = (agent: Agent) =>
    new Promise<number | string>((resolve) => {
      const sent = request({ host: "127.0.0.1", port, agent }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode ?? 0));
      });
      sent.once("error", (error: Error & { code?: string }) => resolve(error.code ?? error.message)).end();
    });
  return { ask: () => Promise.all(agents.map(ask)), close: () => agents.forEach((agent) => void agent.destroy()) };
}

/**
 * The number of requests that all workers have counted, including workers that have ended.
 *
 * @param meanwhile Called once the first part of the metrics has been read
 */
async function countedRequests(pool: WorkerPool, meanwhile?: () => Promise<void>): Promise<number> {
  const parts: MetricsPart[] = [];
  for await (const part of await pool.metricParts()) if (parts.push(part) === 1) await meanwhile?.();
  const counts = parts.filter(({ shape }) => shape.name === "sluice_http_requests_total");
  return counts.flatMap(({ numbers }) => Array.from(numbers)).reduce((sum, value) => sum + value, 0);
}

async function accepted(pool: WorkerPool): Promise<readonly number[]> {
  await pool.report();
  return pool.threads().map(({ report }) => report?.connections.accepted ?? 0);
}

describe("a pool that several documents reach one after the other", () => {
  const shared = sharedTestPool();

  it("a rate limit applies to the whole node, whichever worker serves a request", async (context) => {
    const pool = shared();
    const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
    const config = { day: 150, year: 10_000 };
    await pool.serve(routed(url, { plugins: [{ name: "rate-limiting", config }] }));
    const answers = await Promise.all(many(400, () => sendRequest(pool.address.port)));
    const admitted = answers.filter(({ status }) => status === 200);
    assert.equal(admitted.length, 150);
    assert.equal(new Set(admitted.map(({ headers }) => headers["x-ratelimit-remaining-day"])).size, 150);
    assert.ok((await accepted(pool)).every((share) => share > 0));
  });

  it("`serve` resolves only once the slowest worker serves the document", async (context) => {
    const pool = shared();
    const [one, two] = await Promise.all(
      ["one", "two"].map((text) => startUpstreamUrl(context, (_request, response) => response.end(text))),
    );
    await pool.serve(routed(one ?? ""));
    let isOver = false;
    const { over } = await blockOneThread(context, 400);
    void over.then(() => {
      isOver = true;
    });
    await pool.serve(routed(two ?? ""));
    assert.equal(isOver, true);
    await over;
    const bodies = await Promise.all(many(32, async () => (await sendRequest(pool.address.port)).body));
    assert.deepEqual(new Set(bodies), new Set(["two"]));
  });

  it("a document that the workers cannot serve is rejected, and all workers keep the previous document", async (context) => {
    const pool = shared();
    const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
    const good = routed(url);
    await pool.serve(good);
    // Only a bug in Sluice can lead to such a snapshot.
    const [route] = good.routes.values();
    const bad = adoptChange(good, { put: { routes: [{ ...route, paths: [5] }] }, remove: {} }, "00");
    await assert.rejects(pool.serve(bad), /startsWith is not a function/);
    assert.deepEqual(
      new Set((await Promise.all(many(16, () => sendRequest(pool.address.port)))).map(({ body }) => body)),
      new Set(["ok"]),
    );
    await pool.serve(emptySnapshot);
    assert.equal((await sendRequest(pool.address.port)).status, 404);
  });
});

test("several workers answer on one port, and their counts are added up", async (context) => {
  const { pool } = await startTestPool(context, { count: 3 });
  const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
  const plugins = [{ name: "prometheus", config: { status_code_metrics: true } }];
  await pool.serve(routed(url, { plugins }));
  const clients = clientsOf(pool, 64);
  assert.deepEqual(new Set(await clients.ask()), new Set([200]));
  clients.close();
  const shares = await accepted(pool);
  assert.equal(shares.length, 3);
  assert.ok(
    shares.every((share) => share > 0),
    shares.join(),
  );
  const { connections } = await pool.report();
  assert.deepEqual([connections.accepted, connections.requests], [64, 64]);
  // Concurrent calls of `metricParts` share one reading of each thread's counts.
  assert.deepEqual(await Promise.all([countedRequests(pool), countedRequests(pool)]), [64, 64]);
});

test("a worker that dies is replaced; its requests still count in rate limits and sums, and clients of other workers lose nothing", async (context) => {
  const { pool, log } = await startTestPool(context);
  const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
  const config = { year: 1000 };
  const counting = { name: "prometheus", config: { status_code_metrics: true } };
  await pool.serve(routed(url, { plugins: [{ name: "rate-limiting", config }, counting] }));
  const clients = clientsOf(pool, 32);
  await clients.ask();
  assert.equal(await countedRequests(pool), 32);
  const [lost = 0, kept = 0] = await accepted(pool);
  assert.equal(lost + kept, 32);
  const [dying] = pool.threads();
  const during = clients.ask();
  await dying?.terminate();
  // Clients of the dead worker may have lost a response; a new request uses a new connection.
  const failed = (await during).filter((answer) => answer !== 200).length;
  assert.ok(failed <= lost, `${failed} of ${lost}`);
  assert.deepEqual(new Set(await clients.ask()), new Set([200]));
  await waitFor(() => pool.threads().length === 2 && !pool.threads().includes(dying as never), {
    what: "the replacement thread",
  });
  await pool.threads().at(-1)?.started;
  const { headers } = await sendRequest(pool.address.port);
  assert.ok(Number(headers["x-ratelimit-remaining-year"]) <= 1000 - 32 - 32 - kept, "the counters belong to the node");
  const late = clientsOf(pool, 32);
  assert.deepEqual(new Set(await late.ask()), new Set([200]));
  assert.ok(((await accepted(pool)).at(-1) ?? 0) > 0, "the replacement accepts connections");
  assert.ok((await pool.report()).connections.accepted >= 32 + 32, "the sum includes the dead worker");
  assert.ok((await countedRequests(pool)) >= 32 + 32, "the metrics include the dead worker");
  assert.deepEqual(
    log.map(({ msg }) => msg),
    ["a worker has ended and is started again"],
  );
  clients.close();
  late.close();
});

test("a worker that dies repeatedly is restarted after growing delays, and the node reports when no worker is left", async (context) => {
  const { pool, log } = await startTestPool(context, { count: 2 });
  for (const deaths of [1, 2, 3]) {
    await Promise.all(pool.threads().map((thread) => thread.terminate()));
    if (deaths === 3) assert.equal(pool.unavailableReason(), "no worker is running");
    await waitFor(() => log.length === deaths * 2 && pool.threads().length === 2, {
      what: "both threads to be replaced",
    });
    await Promise.all(pool.threads().map(({ started }) => started));
  }
  assert.equal(pool.unavailableReason(), null);
  const pauses = log.map((line) => (line as unknown as { pause: number }).pause);
  assert.deepEqual(pauses, [0, 0, 100, 100, 200, 200]);
  assert.equal((await sendRequest(pool.address.port)).status, 503);
});

test("the restart of a worker is repeated until it succeeds", async (context) => {
  const folder = temporaryFolder("worker-pool");
  context.after(() => folder.remove());
  const accessLog = join(folder.path, "log", "access.log");
  await mkdir(dirname(accessLog));
  const { pool, log } = await startTestPool(context, { accessLog });
  await rm(dirname(accessLog), { recursive: true });
  const [dying, kept] = pool.threads();
  await dying?.terminate();
  const failed = () => log.some((line) => JSON.stringify(line).includes("ENOENT"));
  await waitFor(failed, { what: "the successor to fail to open the access log" });
  await mkdir(dirname(accessLog));
  const isServing = async () => {
    const successor = pool.threads().find((thread) => thread !== kept);
    return (await successor?.started.catch(() => undefined)) !== undefined;
  };
  await waitFor(isServing, { what: "a successor to start" });
});

/** A plugin that does nothing, as a module. */
const idlePlugin = `data:text/javascript,export default ${JSON.stringify({
  name: "idle",
  version: "1.0.0",
  priority: 1,
  protects: false,
  schema: { type: "object", properties: {} },
})}`;

for (const [what, prepare] of [
  [
    "that waits for its restart",
    async (pool: WorkerPool) => {
      const [first] = pool.threads();
      await first?.terminate();
      const second = await waitFor(() => pool.threads().find((thread) => thread !== first), {
        what: "a second worker",
      });
      await second.started;
      await second.terminate();
      await waitFor(() => pool.threads().length === 0, { what: "the second worker to end" });
      return pool.reload([idlePlugin], emptySnapshot);
    },
  ],
  [
    "that ends during the reload",
    async (pool: WorkerPool) => {
      const [old] = pool.threads();
      const reloaded = pool.reload([idlePlugin], emptySnapshot);
      await old?.terminate();
      return reloaded;
    },
  ],
] as const)
  test(`a reload replaces a worker ${what}`, async (context) => {
    const { pool } = await startTestPool(context, { count: 1, plugins: [idlePlugin] });
    await prepare(pool);
    await waitFor(() => pool.threads().length === 1, { what: "the replaced worker to end" });
    await Promise.all(pool.threads().map(({ started }) => started));
    const { workers } = await pool.report();
    assert.deepEqual(workers, { configured: 1, running: 1 });
    assert.equal((await sendRequest(pool.address.port)).status, 503);
  });

test("a reload loses no counts of the replaced workers, even if nothing has read them before", async (context) => {
  const { pool } = await startTestPool(context, { plugins: [idlePlugin] });
  const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
  const counting = { name: "prometheus", config: { status_code_metrics: true } };
  const snapshot = routed(url, { plugins: [counting] });
  await pool.serve(snapshot);
  const clients = clientsOf(pool, 32);
  const ask = async () => assert.deepEqual(new Set(await clients.ask()), new Set([200]));
  await ask();
  const old = pool.threads();
  await pool.reload([idlePlugin], snapshot);
  // The old workers answer one more request on each of their idle connections.
  await ask();
  await waitFor(() => !pool.threads().some((thread) => old.includes(thread)), { what: "the old workers to end" });
  assert.equal(await countedRequests(pool), 64);
  assert.equal((await pool.report()).connections.requests, 64);
  clients.close();
});

test("a reading of the metrics contains all counts of a worker that ends meanwhile, and contains them once", async (context) => {
  const { pool } = await startTestPool(context, { count: 3 });
  const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
  await pool.serve(routed(url, { plugins: [{ name: "prometheus", config: { status_code_metrics: true } }] }));
  const clients = clientsOf(pool, 32);
  await clients.ask();
  clients.close();
  const [first, second] = pool.threads();
  const end = async (thread: typeof first) => {
    await thread?.terminate();
    await thread?.ended;
  };
  assert.equal(await countedRequests(pool), 32);
  await end(first);
  assert.equal(await countedRequests(pool, () => end(second)), 32);
  assert.equal(await countedRequests(pool), 32);
});

test("no reload starts workers once the pool is being closed, because they would keep the process alive", async (context) => {
  const { pool } = await startTestPool(context, { count: 1, plugins: [idlePlugin] });
  const closed = pool.close({ deadline: 0 });
  await assert.rejects(pool.reload([idlePlugin], emptySnapshot), /the node is being stopped/);
  await closed;
  assert.deepEqual(pool.threads(), []);
});

test("a document is not delayed by a worker that dies instead of serving it, and the worker's successor starts with this document", async (context) => {
  const { pool } = await startTestPool(context);
  const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
  await blockOneThread(context, 60_000);
  const served = pool.serve(routed(url));
  for (const thread of pool.threads()) await thread.terminate();
  await served;
  await waitFor(() => pool.threads().length === 2, { what: "both threads to be replaced" });
  await Promise.all(pool.threads().map(({ started }) => started));
  assert.deepEqual(
    new Set((await Promise.all(many(16, () => sendRequest(pool.address.port)))).map(({ body }) => body)),
    new Set(["ok"]),
  );
});

test("with policy cluster every worker uses the counters of the control thread, and requests get status 500 when these fail", async (context) => {
  const asked: Counter[] = [];
  let isBroken = false;
  const { pool } = await startTestPool(context, {
    controlCounters: {
      cluster: {
        async incrementBelowLimit(counters) {
          if (isBroken) throw new Error("the database cannot be reached");
          asked.push(...counters);
          return { admitted: asked.length <= 5, counts: counters.map(() => asked.length) };
        },
        addAmount: async () => [],
        close: async () => undefined,
      },
    },
  });
  const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
  const local = routed(url, { plugins: [{ name: "rate-limiting", config: { year: 5, fault_tolerant: false } }] });
  const [plugin] = local.plugins.values();
  assert.ok(plugin);
  // This policy is not allowed in a file.
  const cluster = { ...plugin, config: { ...plugin.config, policy: "cluster" } };
  await pool.serve(adoptChange(local, { put: { plugins: [cluster] }, remove: {} }, "00"));
  const statuses = (await Promise.all(many(12, () => sendRequest(pool.address.port)))).map(({ status }) => status);
  assert.deepEqual(statuses.toSorted(), [...many(5, () => 200), ...many(7, () => 429)]);
  isBroken = true;
  assert.equal((await sendRequest(pool.address.port)).status, 500);
});

test("an address in use is refused before any worker starts", async (context) => {
  const url = new URL(await startUpstreamUrl(context, () => {}));
  const { startWorkerPool } = await import("./worker-pool.ts");
  const plan = {
    engine: "http1",
    listen: { host: "127.0.0.1", port: Number(url.port) },
    listenTls: null,
    listenStreams: [],
  } as const;
  await assert.rejects(startWorkerPool(2, { plan } as never), { code: "EADDRINUSE", port: Number(url.port) });
});

for (const limit of ["maxConnections", "maxConnectionsPerAddress"] as const) {
  test(`connections are limited over all workers (${limit}), and the slots of a dead worker are free again`, async (context) => {
    const { pool } = await startTestPool(context, { settings: { [limit]: 20 } });
    const isOpen = (socket: Socket) => !socket.closed;
    const open = async () => {
      const opened = await Promise.all(many(60, () => dial(context, pool.address.port)));
      await waitFor(() => opened.filter(isOpen).length === 20, {
        what: "the connections beyond the limit to be closed",
      });
      return opened;
    };
    const opened = await open();
    const shares = await accepted(pool);
    assert.ok(
      shares.every((share) => share > 0),
      shares.join(),
    );
    const report = await pool.report();
    assert.deepEqual([report.connections.active, report.connections.handled], [20, 20]);
    await Promise.all(pool.threads().map((thread) => thread.terminate()));
    await waitFor(() => opened.filter(isOpen).length === 0 && pool.threads().length === 2, {
      what: "both threads to be replaced and their connections to close",
    });
    await Promise.all(pool.threads().map(({ started }) => started));
    const again = await open();
    for (const socket of again) socket.destroy();
    await waitFor(async () => (await pool.report()).connections.active === 0, { what: "all connections to be closed" });
    assert.equal((await sendRequest(pool.address.port)).status, 503);
  });
}

test("a worker that is stuck is replaced; a worker that is only busy is not replaced", async (context) => {
  const { pool, log } = await startTestPool(context, { workerTimeout: 1000 });
  const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
  await pool.serve(routed(url));
  const before = new Set(pool.threads());
  await (await blockOneThread(context, 500)).over;
  assert.deepEqual(new Set(pool.threads()), before);
  await blockOneThread(context, 600_000);
  await waitFor(() => pool.threads().filter((thread) => !before.has(thread)).length === 1, {
    what: "a replacement for the stuck thread",
  });
  await Promise.all(pool.threads().map(({ started }) => started));
  const bodies = await Promise.all(many(32, async () => (await sendRequest(pool.address.port)).body));
  assert.deepEqual(new Set(bodies), new Set(["ok"]));
  const [line, ...others] = log as unknown as readonly { readonly msg: string; readonly err: { message: string } }[];
  assert.equal(line?.msg, "a worker has ended and is started again");
  assert.equal(line.err.message, "its event loop has been blocked for 1000 ms");
  assert.deepEqual(others, []);
});
