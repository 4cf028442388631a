import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { SettingsError } from "@sluice/model/serving";
import { portOf, startUpstream } from "../../../../../test/conformance/engine/proxy-rig.ts";
import { freePort, temporaryFolder } from "../../../../../tools/process/index.ts";
import { type KeyPair, makeAuthority } from "../../../../../tools/programs/certificates.ts";
import { startObservedNode } from "../testing-observed-node.ts";
import { startTraceCollector } from "./testing-collector.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const SERVER = 2;
const CLIENT = 3;

/** A node with tracing, in front of a port that refuses connections and an upstream that returns the headers it got. */
async function startNode(context: TestContext, settings: Readonly<Record<string, string>> = {}, pair?: KeyPair) {
  const collector = await startTraceCollector(context, pair);
  const upstream = await startUpstream(context, ({ headers, url }, response) => {
    response.statusCode = url?.startsWith("/missing") ? 404 : 200;
    response.end(JSON.stringify(headers));
  });
  const [port, closed] = [portOf(upstream), await freePort()];
  const routes = [
    { name: "open", paths: ["/open"] },
    { name: "guarded", paths: ["/guarded"], plugins: [{ name: "key-auth" }] },
  ];
  const targets = [
    { target: `127.0.0.1:${closed}`, weight: 1000 },
    { target: `127.0.0.1:${port}`, weight: 1 },
  ];
  const document = {
    services: [
      { name: "up", url: `http://127.0.0.1:${port}`, routes },
      { name: "down", url: `http://127.0.0.1:${closed}`, retries: 0, routes: [{ name: "down", paths: ["/down"] }] },
      { name: "several", url: "http://pool", routes: [{ name: "several", paths: ["/several"] }] },
    ],
    upstreams: [{ name: "pool", targets }],
  };
  const on = { SLUICE_TRACING: "otlp", OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/` };
  const { send, close } = await startObservedNode(context, { document, settings: { ...on, ...settings } });
  /**
   * Sends one request, and stops the node. Returns the status, the headers that the upstream received, and all exported
   * spans.
   */
  async function trace(path: string, headers: Readonly<Record<string, string>> = {}) {
    const { status, body } = await send({ path, headers });
    await close();
    const server = collector.spans.filter(({ kind }) => kind === SERVER);
    const client = collector.spans.filter(({ kind }) => kind === CLIENT);
    assert.equal(server.length + client.length, collector.spans.length);
    const got: Readonly<Record<string, string>> = status === 200 ? JSON.parse(body) : {};
    return { status, got, server, client };
  }
  return { collector, port, closed, trace };
}

for (const engine of ["http1", "reply-from"]) {
  const settings = { SLUICE_ENGINE: engine };

  test(`${engine}: the node starts a trace, with a span for the request and a span for the attempt`, async (context) => {
    const { collector, port, trace } = await startNode(context, settings);
    const { got, server, client } = await trace("/open/a?b=secret", { "User-Agent": "test/1", Tracestate: "a=b" });
    const [[request], [call]] = [server, client];
    assert.ok(request && call && server.length === 1 && client.length === 1);
    assert.equal(got.traceparent, `00-${request.traceId}-${call.spanId}-01`);
    assert.equal(got.tracestate, undefined);
    assert.deepEqual([request.name, request.parentSpanId, request.failed], ["GET open", "", false]);
    assert.deepEqual([call.name, call.parentSpanId, call.traceId], ["GET", request.spanId, request.traceId]);
    const { "sluice.request_id": id, "server.port": listening, ...attributes } = request.attributes;
    assert.match(String(id), /^[\da-f]{32}$/);
    assert.ok(Number(listening) > 0);
    assert.deepEqual(attributes, {
      "http.request.method": "GET",
      "url.scheme": "http",
      "url.path": "/open/a",
      "server.address": "127.0.0.1",
      "client.address": "127.0.0.1",
      "network.peer.address": "127.0.0.1",
      "network.protocol.version": "1.1",
      "user_agent.original": "test/1",
      "sluice.route": "open",
      "sluice.service": "up",
      "http.response.status_code": 200,
    });
    assert.deepEqual(call.attributes, {
      "http.request.method": "GET",
      "server.address": "127.0.0.1",
      "server.port": port,
      "url.full": `http://127.0.0.1:${port}/a`,
      "http.response.status_code": 200,
    });
    assert.ok(!collector.text().includes("secret"));
    assert.match(collector.text(), /^POST \/v1\/traces /);
    assert.equal(collector.resource()["service.name"], "sluice");
  });

  test(`${engine}: the node continues the sampled trace of a client`, async (context) => {
    const { trace } = await startNode(context, { ...settings, SLUICE_TRACING_SAMPLING: "0" });
    const { got, server, client } = await trace("/open", {
      Traceparent: `00-${traceId}-${spanId}-01`,
      Tracestate: "a=b",
    });
    assert.equal(got.traceparent, `00-${traceId}-${client[0]?.spanId}-01`);
    assert.equal(got.tracestate, "a=b");
    assert.deepEqual([server[0]?.traceId, server[0]?.parentSpanId], [traceId, spanId]);
  });

  test(`${engine}: the node forwards the headers of an unsampled trace unchanged, and exports no span`, async (context) => {
    const { trace } = await startNode(context, settings);
    const parent = `00-${traceId}-${spanId}-00`;
    const { got, server, client } = await trace("/open", { Traceparent: parent, Tracestate: "a=b" });
    assert.deepEqual([got.traceparent, got.tracestate, server.length, client.length], [parent, "a=b", 0, 0]);
  });

  test(`${engine}: the node replaces an invalid traceparent, and removes the tracestate`, async (context) => {
    const { trace } = await startNode(context, { ...settings, SLUICE_TRACING_SAMPLING: "0" });
    const { got, server } = await trace("/open", { Traceparent: `00-${traceId}-bad-01`, Tracestate: "a=b" });
    assert.match(String(got.traceparent), /^00-[\da-f]{32}-[\da-f]{16}-00$/);
    assert.ok(!got.traceparent?.includes(traceId));
    assert.deepEqual([got.tracestate, server.length], [undefined, 0]);
  });

  test(`${engine}: each attempt has a span`, async (context) => {
    const { port, closed, trace } = await startNode(context, settings);
    const { got, client } = await trace("/several");
    const tries = client.map(({ attributes: seen, failed }) => [
      ...[seen["server.port"], seen["error.type"], seen["http.request.resend_count"], failed],
    ]);
    const last = client.at(-1);
    assert.equal(got.traceparent, `00-${last?.traceId}-${last?.spanId}-01`);
    assert.deepEqual(tries, [
      [closed, "ECONNREFUSED", undefined, true],
      [port, undefined, 1, false],
    ]);
  });

  test(`${engine}: the spans record failures of the upstream and error responses of the gateway`, async (context) => {
    const { trace } = await startNode(context, settings);
    const { status, server, client } = await trace("/down");
    assert.ok(status >= 502);
    assert.deepEqual(
      [server[0]?.failed, server[0]?.attributes["error.type"], client[0]?.attributes["error.type"], client.length],
      [true, String(status), "ECONNREFUSED", 1],
    );
  });

  test(`${engine}: a status of 4xx is an error of the client span, not of the server span`, async (context) => {
    const { trace } = await startNode(context, settings);
    const { server, client } = await trace("/open/missing");
    assert.deepEqual([server[0]?.failed, client[0]?.failed, client[0]?.attributes["error.type"]], [false, true, "404"]);
  });

  test(`${engine}: a request that the gateway itself answers has no span for an attempt`, async (context) => {
    const { collector, trace } = await startNode(context, settings);
    const { server, client } = await trace("/guarded?apikey=my-key");
    assert.deepEqual([server[0]?.attributes["http.response.status_code"], client.length], [401, 0]);
    assert.ok(!collector.text().includes("my-key"));
  });

  test(`${engine}: disabled tracing changes no header`, async (context) => {
    const { collector, trace } = await startNode(context, { ...settings, SLUICE_TRACING: "off" });
    const { got } = await trace("/open", { Traceparent: "anything", Tracestate: "a=b" });
    assert.deepEqual([got.traceparent, got.tracestate, collector.text()], ["anything", "a=b", ""]);
  });
}

test("a node with two workers exports the spans of a request", async (context) => {
  const { trace } = await startNode(context, { SLUICE_WORKERS: "2" });
  const { server, client } = await trace("/open");
  assert.deepEqual([server.length, client.length], [1, 1]);
});

for (const [isTrusted, spans] of [
  [true, 2],
  [false, 0],
] as const)
  test(`a collector with a certificate of a private authority gets ${spans === 0 ? "no" : "the"} spans if SLUICE_TRUSTED_CERTIFICATES ${isTrusted ? "names" : "does not name"} the authority`, async (context) => {
    const [own, other] = [await makeAuthority(), await makeAuthority("other")];
    const pair = await own.issue({ name: "collector", sans: ["127.0.0.1"], usage: "server" });
    const folder = temporaryFolder("tracing-tls");
    context.after(() => folder.remove());
    const file = join(folder.path, "authorities.pem");
    writeFileSync(file, (isTrusted ? own : other).certificate);
    const { trace } = await startNode(context, { SLUICE_TRUSTED_CERTIFICATES: file }, pair);
    const { server, client } = await trace("/open");
    assert.equal(server.length + client.length, spans);
  });

for (const [fault, endpoint, message] of [
  ["no exporter address is set", "", /^SLUICE_TRACING=otlp needs OTEL_EXPORTER_OTLP_ENDPOINT/],
  ["the exporter address is invalid", "collector:4318", /must be http or https URLs$/],
] as const) {
  test(`a node with tracing does not start when ${fault}`, async (context) => {
    await assert.rejects(startNode(context, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }), (error: Error) => {
      assert.ok(error instanceof SettingsError);
      assert.match(error.message, message);
      return true;
    });
  });
}
