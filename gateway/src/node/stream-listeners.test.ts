/** A node with listeners for connections that are not HTTP. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { listen, portOf } from "../../../test/conformance/engine/proxy-rig.ts";
import { startDatagramServer, startLogCollector } from "../../../test/plugins/log-servers.ts";
import { freePort, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { startReportedNode } from "./testing-node.ts";

const textFrom = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let text = "";
    socket
      .on("data", (piece: Buffer) => (text += piece))
      .on("error", () => {})
      .once("close", () => resolve(text));
  });

/** A server that repeats what it receives until the client ends its side. */
const startEcho = (context: TestContext) =>
  listen(
    context,
    createServer({ allowHalfOpen: true }, (socket) => socket.on("error", () => {}).pipe(socket)),
  );

for (const workers of ["1", "2"])
  test(`a node with ${workers} workers forwards connections, counts them, and refuses its own listeners as targets`, async (context) => {
    const echo = portOf(await startEcho(context));
    const serviceOf = (port: number) => ({
      ...{ name: "echo", url: `tcp://127.0.0.1:${port}`, retries: 0 },
      routes: [{ name: "tcp", protocols: ["tcp"], sources: [{ ip: "127.0.0.1" }] }],
    });
    const { gateway, metrics, write } = await startReportedNode(context, {
      service: serviceOf(echo),
      settings: {
        ...{ SLUICE_WORKERS: workers, SLUICE_STREAM_LISTEN: "127.0.0.1:0, 127.0.0.1:0 ssl" },
        SLUICE_DRAIN_TIMEOUT: "2s",
      },
    });
    const [plain, secure] = gateway.streams;
    assert.deepEqual([plain?.tls, secure?.tls], [false, true]);
    assert.ok(plain && plain.port > 0 && secure && secure.port !== plain.port);
    const ask = (text: string) => {
      const socket = connect({ port: plain.port, host: "127.0.0.1" });
      socket.end(text);
      return textFrom(socket);
    };
    const texts = Array.from({ length: 20 }, (_, index) => `hello ${index}`);
    assert.deepEqual(await Promise.all(texts.map(ask)), texts);
    assert.match(
      await metrics(),
      /^sluice_stream_sessions_total\{service="echo",route="tcp",code="200",source="service",workspace="default"\} 20$/m,
    );
    const open = connect({ port: plain.port, host: "127.0.0.1" });
    open.write("first ");
    const closed = textFrom(open);
    write(JSON.stringify({ _format_version: "3.0", services: [serviceOf(secure.port)] }));
    // A connection to its own listener would make the node connect to itself without end.
    await waitFor(async () => (await ask("loop")) === "", { what: "the new configuration" });
    assert.match(
      await metrics(),
      /^sluice_stream_sessions_total\{service="echo",route="tcp",code="503",source="gateway",/m,
    );
    open.end("last");
    assert.equal(await closed, "first last");
  });

test("a connection is recorded by the log plugin that it began with, even if the plugin has been changed since", async (context) => {
  const echo = portOf(await startEcho(context));
  const folder = temporaryFolder("stream-log");
  context.after(() => folder.remove());
  const serviceOf = (log: string) => ({
    ...{ name: "echo", url: `tcp://127.0.0.1:${echo}` },
    routes: [{ name: "tcp", protocols: ["tcp"], sources: [{ ip: "127.0.0.1" }] }],
    plugins: [{ name: "file-log", protocols: ["tcp"], config: { path: join(folder.path, log) } }],
  });
  const textOf = (log: string) => {
    const path = join(folder.path, log);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  };
  const { gateway, write } = await startReportedNode(context, {
    service: serviceOf("before"),
    settings: { SLUICE_STREAM_LISTEN: "127.0.0.1:0" },
  });
  const port = gateway.streams[0]?.port ?? 0;
  const open = connect({ port, host: "127.0.0.1" });
  open.write("first ");
  const closed = textFrom(open);
  await once(open, "data");
  write(JSON.stringify({ _format_version: "3.0", services: [serviceOf("after")] }));
  const logsAfter = async () => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.end("x");
    await textFrom(socket);
    return textOf("after") !== "";
  };
  await waitFor(logsAfter, { what: "the new configuration" });
  open.end("last");
  assert.equal(await closed, "first last");
  await waitFor(() => textOf("before").includes('"received":10,'), { what: "the record" });
});

test("a connection is measured and traced by plugins that measure and trace requests", async (context) => {
  const echo = portOf(await startEcho(context));
  const { port: statsd, received } = await startDatagramServer(context);
  const zipkin = await startLogCollector(context, (response) => response.writeHead(202).end());
  const protocols = ["tcp"];
  const metrics = [{ name: "request_size", stat_type: "counter", sample_rate: 1 }];
  const { gateway, metrics: scrape } = await startReportedNode(context, {
    service: {
      ...{ name: "echo", url: `tcp://127.0.0.1:${echo}` },
      routes: [{ name: "tcp", protocols, sources: [{ ip: "127.0.0.1" }] }],
      plugins: [
        { name: "prometheus", protocols, config: { latency_metrics: true } },
        { name: "statsd", protocols, config: { host: "127.0.0.1", port: statsd, metrics } },
        { name: "zipkin", protocols, config: { http_endpoint: `http://${zipkin.origin}/`, sample_ratio: 1 } },
      ],
    },
    settings: { SLUICE_STREAM_LISTEN: "127.0.0.1:0" },
  });
  const socket = connect({ port: gateway.streams[0]?.port ?? 0, host: "127.0.0.1" });
  socket.end("hello");
  assert.equal(await textFrom(socket), "hello");
  assert.deepEqual(await received(1), ["kong.service.echo.request.size:5|c"]);
  const labels = 'service="echo",route="tcp",workspace="default"';
  assert.match(await scrape(), new RegExp(`^sluice_session_duration_ms_count\\{${labels}\\} 1$`, "m"));
  const names = () =>
    zipkin.received.flatMap(({ body }) =>
      (JSON.parse(body) as readonly { readonly name: string }[]).map(({ name }) => name),
    );
  await waitFor(() => names().length === 3, { what: "the spans" });
  assert.deepEqual(names(), ["stream (balancer try 1)", "stream (proxy)", "stream"]);
});

test("several workers do not start if two of their listeners have one address", async (context) => {
  const port = await freePort();
  await assert.rejects(
    startReportedNode(context, {
      service: {},
      settings: {
        ...{ SLUICE_WORKERS: "2", SLUICE_PROXY_LISTEN: `127.0.0.1:${port}` },
        SLUICE_STREAM_LISTEN: `127.0.0.1:${port}`,
      },
    }),
    { code: "EADDRINUSE", port },
  );
});

test("a node does not start if the address of a stream listener is in use", async (context) => {
  const taken = portOf(await startEcho(context));
  for (const workers of ["1", "2"])
    await assert.rejects(
      startReportedNode(context, {
        service: {},
        settings: { SLUICE_WORKERS: workers, SLUICE_STREAM_LISTEN: `127.0.0.1:${taken}` },
      }),
      { code: "EADDRINUSE" },
    );
});
