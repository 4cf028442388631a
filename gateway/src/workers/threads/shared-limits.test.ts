/** Limits that hold over all workers of a node: the plugin concurrency-limiting, and buckets of rate-limiting. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { dial, receiveUntil, sendRequest } from "../../../../test/conformance/engine/client.ts";
import { waitFor } from "../../../../tools/process/index.ts";
import { sharedTestPool, snapshotOfDocument, startTestPool, startUpstreamUrl } from "./testing-worker-pool.ts";
import type { WorkerPool } from "./worker-pool.ts";

const many = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, at) => make(at));

/**
 * A pool serves requests with these plugins. The test sends the responses of the upstream, except those to `/probe`.
 */
async function serveHeldRequests(
  context: TestContext,
  pool: WorkerPool,
  config: object,
  plugins: readonly object[] = [],
) {
  const received: { readonly request: IncomingMessage; readonly response: ServerResponse }[] = [];
  const upstream = createServer((request, response) => {
    if (request.url === "/probe") response.end("ok");
    else received.push({ request, response });
  });
  const tunnels: Socket[] = [];
  upstream.on("upgrade", (_request, socket: Socket) => {
    tunnels.push(socket.on("error", () => undefined).on("end", () => socket.end()));
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    upstream.close();
    upstream.closeAllConnections();
    for (const tunnel of tunnels) tunnel.destroy();
  });
  const { port: upstreamPort } = upstream.address() as AddressInfo;
  const service = { name: "up", url: `http://127.0.0.1:${upstreamPort}`, retries: 0 };
  const limiting = { name: "concurrency-limiting", config };
  const routes = [{ name: "r", paths: ["/"] }];
  await pool.serve(snapshotOfDocument({ services: [{ ...service, routes, plugins: [limiting, ...plugins] }] }));
  const { port } = pool.address;
  return {
    pool,
    port,
    tunnels,
    received,
    begin: async (head = "GET /held HTTP/1.1") => {
      const client = await dial(context, port);
      client.on("error", () => undefined).write(`${head}\r\nHost: a\r\n\r\n`);
      return client;
    },
    next: async () => {
      await waitFor(() => received.length > 0, { what: "a request at the upstream" });
      return received.shift() as (typeof received)[number];
    },
    /** The status of a request that the upstream answers at once. */
    probe: async () => (await sendRequest(port, { path: "/probe" })).status,
  };
}

type Held = Awaited<ReturnType<typeof serveHeldRequests>>;

const ends: readonly (readonly [what: string, end: (held: Held) => Promise<void>])[] = [
  [
    "its client disconnects before a response",
    async (held) => {
      const client = await held.begin();
      await held.next();
      assert.equal(await held.probe(), 503);
      client.destroy();
    },
  ],
  [
    "its client disconnects during the response",
    async (held) => {
      const client = await held.begin();
      (await held.next()).response.write("a");
      await once(client, "data");
      assert.equal(await held.probe(), 503);
      client.destroy();
    },
  ],
  [
    "the upstream closes the connection without a response",
    async (held) => {
      await held.begin();
      const { request } = await held.next();
      assert.equal(await held.probe(), 503);
      request.socket.destroy();
    },
  ],
  [
    "the upstream aborts its response",
    async (held) => {
      const client = await held.begin();
      const { response } = await held.next();
      response.write("a");
      await once(client, "data");
      response.destroy();
    },
  ],
  [
    "the connection of its WebSocket ends",
    async (held) => {
      const client = await held.begin("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket");
      await once(client, "data");
      assert.equal(await held.probe(), 503);
      client.destroy();
    },
  ],
  [
    "the upstream ends the connection of its WebSocket",
    async (held) => {
      const client = await held.begin("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket");
      await once(client, "data");
      assert.equal(await held.probe(), 503);
      held.tunnels[0]?.destroy();
    },
  ],
  [
    "its worker dies",
    async (held) => {
      await held.begin();
      await held.next();
      assert.equal(await held.probe(), 503);
      for (const thread of held.pool.threads()) await thread.terminate();
    },
  ],
];
describe("with two workers", () => {
  const pool = sharedTestPool();

  it("requests in progress are limited over all workers: of many clients exactly as many as the limit reach the upstream", async (context) => {
    const held = await serveHeldRequests(context, pool(), { limit: 7 });
    const answers = many(60, () => sendRequest(held.port, { path: "/held" }));
    let refused = 0;
    for (const answer of answers) void answer.then(({ status }) => status === 503 && refused++);
    // All 60 requests: those that are not refused wait for the upstream.
    await waitFor(() => refused + held.received.length === 60, {
      what: "the refusals and the requests at the upstream",
    });
    assert.deepEqual([refused, held.received.length], [53, 7]);
    await held.pool.report();
    assert.ok(
      held.pool.threads().every(({ report }) => (report?.connections.accepted ?? 0) > 0),
      "both workers serve",
    );
    for (const { response } of held.received) response.end("ok");
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 7);
    await waitFor(async () => (await held.probe()) === 200, { what: "free slots" });
  });

  // Recorded with nginx 1.22 and `limit_conn c 1`: the second request gets 503, and the first one 200.
  it("a request is in progress until its response has ended, and an idle connection is not", async (context) => {
    const held = await serveHeldRequests(context, pool(), { limit: 1 });
    await dial(context, held.port);
    const first = sendRequest(held.port, { path: "/first" });
    const { response } = await held.next();
    const second = await sendRequest(held.port, { path: "/second" });
    assert.equal(second.status, 503);
    assert.match(second.body, /"message":"Too many requests in progress"/);
    response.write("a");
    assert.equal(await held.probe(), 503, "the body has not ended");
    response.end("b");
    assert.equal((await first).status, 200);
    await waitFor(async () => (await held.probe()) === 200, { what: "the slot is free again" });
  });

  for (const [what, end] of ends)
    it(`a request is no longer in progress if ${what}`, async (context) => {
      const held = await serveHeldRequests(context, pool(), { limit: 1 });
      await end(held);
      await waitFor(async () => (await held.probe().catch(() => 0)) === 200, { what: "the slot is free again" });
    });

  it("a request that a later plugin answers is in progress only until then", async (context) => {
    const held = await serveHeldRequests(context, pool(), { limit: 1 }, [
      { name: "request-termination", config: { status_code: 418 } },
    ]);
    // A slot is released when the response has been sent: another worker may see that a moment after the client.
    for (let sent = 0; sent < 4; sent++)
      await waitFor(async () => (await held.probe()) === 418, { what: "the slot is free again" });
  });

  it("a bucket of rate-limiting admits, over all workers and all routes with the same scope_name, exactly its burst at once", async (context) => {
    const workers = pool();
    const url = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
    const config = { year: 1, algorithm: "bucket", burst: { year: 149 }, limit_by: "ip", error_code: 503 };
    const plugins = [{ name: "rate-limiting", config: { ...config, scope_name: "shop" } }];
    const routes = ["/a", "/b"].map((path) => ({ name: path.slice(1), paths: [path], plugins }));
    await workers.serve(snapshotOfDocument({ services: [{ name: "up", url, routes }] }));
    const answers = await Promise.all(
      many(400, (at) => sendRequest(workers.address.port, { path: at % 2 === 0 ? "/a" : "/b" })),
    );
    const admitted = answers.filter(({ status }) => status === 200);
    assert.equal(admitted.length, 150);
    assert.equal(new Set(admitted.map(({ headers }) => headers["x-ratelimit-remaining-year"])).size, 150);
    assert.equal(answers.filter(({ status }) => status === 503).length, 250);
  });
});

it("connections through a load balancer are limited for each client of their PROXY headers, over all workers", async (context) => {
  const settings = { proxyProtocol: ["127.0.0.1"], maxConnectionsPerAddress: 3 };
  const { pool } = await startTestPool(context, { settings });
  const clients = await Promise.all(
    ["192.0.2.1", "192.0.2.2"].flatMap((client) =>
      many(10, async () => {
        const socket = await dial(context, pool.address.port);
        const answered = receiveUntil(socket, "no configuration is available yet").then(
          () => client,
          () => null,
        );
        socket.write(`PROXY TCP4 ${client} 198.51.100.2 9 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n`);
        return answered;
      }),
    ),
  );
  const answered = clients.filter((client) => client !== null);
  assert.deepEqual(answered.toSorted(), [...many(3, () => "192.0.2.1"), ...many(3, () => "192.0.2.2")]);
  const { connections } = await pool.report();
  assert.deepEqual([connections.accepted, connections.active, connections.handled], [20, 6, 6]);
});
