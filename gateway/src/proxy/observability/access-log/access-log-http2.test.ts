/** Access log of HTTP/2 and gRPC requests. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { signal } from "../../../../../test/conformance/engine/client.ts";
import {
  dialHttp2,
  dialHttp2Tls,
  grpcHeaders,
  message,
  receivedBody,
  requestHttp2,
  startHttp2Upstream,
} from "../../../../../test/conformance/engine/http2-client.ts";
import { portOf, startUpstream } from "../../../../../test/conformance/engine/proxy-rig.ts";
import { makeAuthority } from "../../../../../tools/programs/certificates.ts";
import { startObservedNode } from "../testing-observed-node.ts";

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/** A node in front of an HTTP/1.1 upstream, which never responds to /held, and a gRPC upstream. */
async function startNode(context: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const [held, gone] = [signal(), signal()];
  const upstream = await startUpstream(context, (incoming, response) => {
    if (incoming.url?.startsWith("/held")) {
      incoming.once("close", gone.fire);
      held.fire();
      return;
    }
    incoming.resume().once("end", () => response.end("hello"));
  });
  const greeter = await startHttp2Upstream(context, async (stream) => {
    const content = await receivedBody(stream);
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": content.length > 8 ? "13" : "0" }));
    stream.end(content);
  });
  const pair = await (await makeAuthority()).issue({ name: "a.example", sans: ["a.example"], usage: "server" });
  const say = { name: "say", protocols: ["grpc", "grpcs"], paths: ["/hello.Greeter/"], strip_path: false };
  const web = { name: "web", paths: ["/web/"], strip_path: false, plugins: [{ name: "grpc-web" }] };
  const document = {
    services: [
      {
        name: "up",
        url: `http://127.0.0.1:${portOf(upstream)}`,
        routes: [{ name: "open", paths: ["/open"] }],
      },
      { name: "greeter", url: `grpc://127.0.0.1:${greeter}`, routes: [say, web] },
    ],
    certificates: [{ cert: pair.certificate, key: pair.key, snis: [{ name: "a.example" }] }],
  };
  const node = await startObservedNode(context, {
    document,
    settings: {
      SLUICE_PROXY_ACCESS_LOG: "FOLDER/access.log",
      SLUICE_PROXY_HTTP2: "on",
      SLUICE_PROXY_TLS_LISTEN: "127.0.0.1:0",
      ...settings,
    },
  });
  /** Stops the node and returns the lines that it wrote. */
  async function lines(): Promise<Record<string, unknown>[]> {
    await node.close();
    const text = readFileSync(join(node.folder, "access.log"), "utf8");
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }
  const { proxy, proxyTls } = node.gateway;
  return { port: proxy.port, tls: proxyTls?.port ?? 0, greeter, lines, held, gone };
}

test("the access log has a line for each HTTP/2 stream, with the TLS version", async (context) => {
  const { tls, lines } = await startNode(context);
  const session = dialHttp2Tls(context, tls);
  const headers = { ":method": "POST", ":path": "/open/things?a=b", "user-agent": "test/2", traceparent: parent };
  await Promise.all([
    requestHttp2(session, { headers, body: "some" }),
    requestHttp2(session, { headers, body: "some" }),
  ]);
  const [one, other, ...others] = await lines();
  assert.ok(one && other && others.length === 0 && one.request_id !== other.request_id);
  const { time, request_id: id, bytes_in: read, bytes_out: written, latencies, target, ...line } = one;
  assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 60_000);
  assert.match(String(id), /^[\da-f]{32}$/);
  assert.match(String(target), /^127\.0\.0\.1:\d+$/);
  assert.ok(Number(read) >= 4 && Number(written) >= 5, `${read} ${written}`);
  const { request, gateway, upstream } = latencies as Record<string, number>;
  assert.ok(Number(request) >= Number(gateway) + Number(upstream), JSON.stringify(latencies));
  assert.deepEqual(line, {
    log: "access",
    client: "127.0.0.1",
    method: "POST",
    path: "/open/things",
    status: 200,
    source: "service",
    route: "open",
    service: "up",
    tries: 1,
    user_agent: "test/2",
    tls: "TLSv1.3",
    trace_id: "0af7651916cd43dd8448eb211c80319c",
  });
});

test("the access log has the gRPC status of calls, and the HTTP status of a call without a matching route", async (context) => {
  const { port, lines, greeter } = await startNode(context);
  const session = dialHttp2(context, port);
  const called = await requestHttp2(session, { headers: grpcHeaders, body: message("hi") });
  assert.equal(called.trailers?.["grpc-status"], "0");
  await requestHttp2(session, { headers: { ...grpcHeaders, ":path": "/other.Service/One" }, body: message("hi") });
  const failed = await requestHttp2(session, { headers: grpcHeaders, body: message("a long one") });
  assert.equal(failed.trailers?.["grpc-status"], "13");
  const logged = (await lines()).map(({ method, path, status, grpc_status, source, route, service, target, tls }) =>
    [method, path, status, grpc_status, source, route, service, target, tls].join(" ").trim(),
  );
  assert.deepEqual(logged, [
    `POST /hello.Greeter/Say 200 0 service say greeter 127.0.0.1:${greeter}`,
    "POST /other.Service/One 404  gateway",
    `POST /hello.Greeter/Say 200 13 service say greeter 127.0.0.1:${greeter}`,
  ]);
});

test("the access log has the gRPC status of calls that grpc-web converts, over HTTP/1.1 and HTTP/2", async (context) => {
  const { port, lines } = await startNode(context);
  const headers = { "content-type": "application/grpc-web" };
  for (const text of ["hi", "a long one"]) {
    const response = await fetch(`http://127.0.0.1:${port}/web/Say`, { method: "POST", headers, body: message(text) });
    await response.arrayBuffer();
  }
  const call = { ":method": "POST", ":path": "/web/Say", ...headers };
  await requestHttp2(dialHttp2(context, port), { headers: call, body: message("a long one") });
  const logged = (await lines()).map(({ route, status, grpc_status }) => [route, status, grpc_status]);
  assert.deepEqual(logged, [
    ["web", 200, 0],
    ["web", 200, 13],
    ["web", 200, 13],
  ]);
});

test("the access log includes a stream that the client reset, and a stream with a malformed head", async (context) => {
  const { port, lines, held, gone } = await startNode(context);
  const session = dialHttp2(context, port);
  const stream = session.request({ ":path": "/open/held" });
  await held.seen;
  stream.on("error", () => {}).close(8);
  await gone.seen;
  const faulty = await requestHttp2(session, { headers: { ":path": "/open", ":authority": "a", host: "b" } });
  assert.equal(faulty.status, 400);
  assert.deepEqual(
    (await lines()).map(({ client, method, path, status, source }) => [client, method, path, status, source].join(" ")),
    ["127.0.0.1 GET /open/held 499 gateway", "127.0.0.1   400 gateway"],
  );
});

test("several workers write lines of several HTTP/2 connections to one file", async (context) => {
  const { port, lines } = await startNode(context, { SLUICE_WORKERS: "2" });
  const paths = Array.from({ length: 12 }, (_, client) => [1, 2, 3, 4, 5].map((at) => `/open/${client}/${at}`));
  const asked = paths.flatMap((some) => {
    const session = dialHttp2(context, port);
    return some.map((path) => requestHttp2(session, { headers: { ":path": path } }));
  });
  await Promise.all(asked);
  assert.deepEqual((await lines()).map(({ path }) => path).toSorted(), paths.flat().toSorted());
});
