/** Traces of HTTP/2 and gRPC requests. */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http2";
import { type TestContext, test } from "node:test";
import { signal } from "../../../../../test/conformance/engine/client.ts";
import {
  dialHttp2,
  grpcHeaders,
  type Http2Request,
  message,
  receivedBody,
  requestHttp2,
  startHttp2Upstream,
} from "../../../../../test/conformance/engine/http2-client.ts";
import { portOf, startUpstream } from "../../../../../test/conformance/engine/proxy-rig.ts";
import { freePort } from "../../../../../tools/process/index.ts";
import { startObservedNode } from "../testing-observed-node.ts";
import { startTraceCollector } from "./testing-collector.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const SERVER = 2;

/** A node in front of an HTTP/1.1 upstream and two gRPC upstreams, one of which does not listen. */
async function startNode(context: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const got: IncomingHttpHeaders[] = [];
  const [held, gone] = [signal(), signal()];
  const collector = await startTraceCollector(context);
  const upstream = await startUpstream(context, (incoming, response) => {
    got.push(incoming.headers);
    if (incoming.url !== "/held") return response.end("hello");
    incoming.once("close", gone.fire);
    return held.fire();
  });
  const greeter = await startHttp2Upstream(context, async (stream, headers) => {
    got.push(headers);
    const content = await receivedBody(stream);
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": content.length > 8 ? "13" : "0" }));
    stream.end(content);
  });
  const [port, closed] = [portOf(upstream), await freePort()];
  const grpc = (name: string, path: string) => ({
    ...{ name, protocols: ["grpc", "grpcs"], paths: [path], strip_path: false },
  });
  const document = {
    services: [
      { name: "up", url: `http://127.0.0.1:${port}`, routes: [{ name: "open", paths: ["/open"] }] },
      { name: "greeter", url: `grpc://127.0.0.1:${greeter}`, routes: [grpc("say", "/hello.Greeter/")] },
      { name: "down", url: `grpc://127.0.0.1:${closed}`, retries: 0, routes: [grpc("down", "/down.Greeter/")] },
    ],
  };
  const on = {
    SLUICE_TRACING: "otlp",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    SLUICE_PROXY_HTTP2: "on",
    ...settings,
  };
  const { gateway, close } = await startObservedNode(context, { document, settings: on });
  /** Stops the node, and returns all spans that it exported. */
  async function spans() {
    await close();
    return {
      server: collector.spans.filter(({ kind }) => kind === SERVER),
      client: collector.spans.filter(({ kind }) => kind !== SERVER),
    };
  }
  const dial = () => dialHttp2(context, gateway.proxy.port);
  return { ...{ got, spans, dial, greeter, port, closed, held, gone } };
}

/** Sends one request. Returns the node's response, the two spans of the request, and what the upstream received. */
async function traced(context: TestContext, asked: Http2Request, settings?: Readonly<Record<string, string>>) {
  const { got, spans, dial, ...ports } = await startNode(context, settings);
  const answer = await requestHttp2(dial(), asked);
  const { server, client } = await spans();
  const [[request, ...requests], [call, ...calls]] = [server, client];
  assert.ok(request && call && requests.length === 0 && calls.length === 0, `${server.length} ${client.length}`);
  return { answer, request, call, upstream: got[0] ?? {}, ...ports };
}

const sampled = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: "a=b" };

test("an HTTP/2 request continues its client's trace, with a span for the request and a span for the attempt", async (context) => {
  const headers = { ":path": "/open/a?b=secret", ":authority": "a.example", ...sampled };
  const { request, call, upstream, port } = await traced(context, { headers });
  assert.equal(upstream.traceparent, `00-${traceId}-${call.spanId}-01`);
  assert.equal(upstream.tracestate, "a=b");
  assert.deepEqual([request.name, request.traceId, request.parentSpanId], ["GET open", traceId, spanId]);
  assert.deepEqual([call.name, call.traceId, call.parentSpanId], ["GET", traceId, request.spanId]);
  const { "network.protocol.version": version, "server.address": host, "url.path": path } = request.attributes;
  assert.deepEqual([version, host, path, request.failed], ["2", "a.example", "/open/a", false]);
  assert.equal(call.attributes["url.full"], `http://127.0.0.1:${port}/a`);
});

test("a gRPC call has a span for the request and a span for the attempt, whose id its upstream receives", async (context) => {
  const asked = { headers: { ...grpcHeaders, ...sampled }, body: message("hi") };
  const { answer, request, call, upstream, greeter } = await traced(context, asked);
  assert.equal(answer.trailers?.["grpc-status"], "0");
  assert.equal(upstream.traceparent, `00-${traceId}-${call.spanId}-01`);
  assert.deepEqual([request.name, request.parentSpanId, request.failed], ["POST say", spanId, false]);
  assert.deepEqual([call.name, call.parentSpanId, call.failed], ["POST", request.spanId, false]);
  assert.equal(call.attributes["server.port"], greeter);
  assert.equal(request.attributes["http.response.status_code"], 200);
  assert.equal(request.attributes["rpc.grpc.status_code"], 0);
});

test("a failed gRPC call with HTTP status 200 is recorded as an error in both spans", async (context) => {
  const { answer, request, call } = await traced(context, { headers: grpcHeaders, body: message("a long one") });
  assert.deepEqual([answer.status, answer.trailers?.["grpc-status"]], [200, "13"]);
  assert.deepEqual([request.failed, call.failed], [true, true]);
  assert.equal(call.attributes["rpc.grpc.status_code"], 13);
});

test("the span of an attempt records why its upstream could not be reached", async (context) => {
  const headers = { ...grpcHeaders, ":path": "/down.Greeter/Say" };
  const { answer, request, call, closed } = await traced(context, { headers, body: message("hi") });
  assert.equal(answer.headers["grpc-status"], "14");
  assert.deepEqual([call.failed, call.attributes["error.type"]], [true, "ECONNREFUSED"]);
  assert.deepEqual([call.attributes["server.port"], request.failed], [closed, true]);
});

test("the spans of a stream end when the client resets it", async (context) => {
  const { spans, dial, held, gone } = await startNode(context);
  const stream = dial().request({ ":path": "/open/held" });
  stream.on("error", () => {});
  await held.seen;
  stream.close(8);
  await gone.seen;
  const { server, client } = await spans();
  assert.deepEqual([server.length, client.length, server[0]?.attributes["http.response.status_code"]], [1, 1, 499]);
});

test("two workers export the spans of the requests on all connections", async (context) => {
  const { spans, dial } = await startNode(context, { SLUICE_WORKERS: "2" });
  const paths = Array.from({ length: 40 }, (_, at) => `/open/${at}`);
  const answers = await Promise.all(paths.map((path) => requestHttp2(dial(), { headers: { ":path": path } })));
  assert.ok(answers.every(({ status }) => status === 200));
  const { server, client } = await spans();
  assert.deepEqual(server.map(({ attributes }) => attributes["url.path"]).toSorted(), paths.toSorted());
  const parents = new Set(client.map(({ parentSpanId }) => parentSpanId));
  assert.deepEqual(parents, new Set(server.map((span) => span.spanId)));
});
