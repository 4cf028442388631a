import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeCredential,
  fakeExchange,
  pluginInstance,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { type ReceivedSpan, startLogCollector } from "../../../test/plugins/log-servers.ts";

const trace = "0af7651916cd43dd8448eb211c80319c";
const span = "b7ad6b7169203331";
const parent = "b7ad6b7169203332";
const NOW = 1_700_000_000_000;

const proxied: FakeExchangeOptions = {
  timings: { started: 100, forwarded: 110, answered: 120.5, ended: 130 },
  attempts: [
    { started: 105, host: "10.0.0.1", port: 80, failed: true },
    { started: 110, host: "10.0.0.2", port: 80, failed: false },
  ],
};

/** Runs one exchange with a plugin instance. Returns the exchange, and the requests and spans of a Zipkin server. */
async function traced(context: TestContext, config: object, options: FakeExchangeOptions = {}) {
  const { received, origin } = await startLogCollector(context, (response) => response.writeHead(202).end());
  const complete = withConfigDefaults("zipkin", {
    http_endpoint: `http://${origin}/api/v2/spans`,
    sample_ratio: 1,
    ...config,
  });
  const instance = pluginInstance("zipkin", complete, fakeContext({ plugin: "zipkin" }));
  const exchange = fakeExchange({ ...proxied, ...options });
  await instance.access?.(exchange);
  instance.responseHeaders?.(exchange);
  instance.log?.(exchange);
  await instance.stop?.();
  const requests = received.map(({ url, headers }) => [url, headers["content-type"]]);
  return { exchange, requests, spans: received.flatMap(({ body }) => JSON.parse(body) as ReceivedSpan[]) };
}

describe("zipkin", () => {
  it("sends a span of the request, one of the time in the proxy, and one of each attempt", async (context) => {
    const { spans, requests } = await traced(context, { queue: { max_batch_size: 10 } });
    assert.deepEqual(requests, [["/api/v2/spans", "application/json"]]);
    const [first, second, proxy, request] = spans;
    assert.deepEqual(
      spans.map(({ name, kind, parentId }) => [name, kind, parentId]),
      [
        ["GET (balancer try 1)", "CLIENT", request?.id],
        ["GET (balancer try 2)", "CLIENT", request?.id],
        ["GET (proxy)", "CLIENT", request?.id],
        ["GET", "SERVER", undefined],
      ],
    );
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
    assert.match(request?.traceId ?? "", /^[\da-f]{32}$/);
    assert.deepEqual([request?.timestamp, request?.duration], [(NOW - 30) * 1000, 30_000]);
    assert.deepEqual([first?.duration, second?.duration], [5000, 10_500]);
    assert.deepEqual(
      [first?.tags.error, first?.tags["kong.balancer.state"], second?.tags.error],
      ["true", "failed", undefined],
    );
    assert.deepEqual(second?.remoteEndpoint, { serviceName: "users", ipv4: "10.0.0.2", port: 80 });
    assert.deepEqual(request?.localEndpoint, { serviceName: "kong" });
    assert.equal(proxy?.tags["peer.hostname"], "users.test");
    assert.deepEqual(
      [proxy, request].map((each) => each?.annotations?.map(({ value, timestamp }) => [value, timestamp - NOW * 1000])),
      [
        [
          ["kas", -30_000],
          ["kaf", -20_000],
          ["khs", -9500],
          ["kbf", 0],
        ],
        [["krs", -30_000]],
      ],
    );
  });

  it("tags the request's span", async (context) => {
    const consumer = fakeConsumer();
    const { spans } = await traced(
      context,
      { static_tags: [{ name: "env", value: "test" }], http_span_name: "method_path", default_service_name: "web" },
      {
        consumer,
        credential: fakeCredential(consumer),
        headers: { "zipkin-tags": ["a = 1; bad; b=c=2;;=x;d=", "e=3"] },
      },
    );
    const request = spans.at(-1);
    assert.deepEqual(
      [request?.name, request?.remoteEndpoint],
      ["GET /users", { serviceName: "web", ipv4: "192.0.2.1" }],
    );
    assert.deepEqual(request?.tags, {
      lc: "kong",
      "http.method": "GET",
      "http.host": "localhost",
      "http.path": "/users",
      "http.protocol": "HTTP/1.1",
      "http.status_code": "200",
      env: "test",
      a: "1",
      "b=c": "2",
      e: "3",
      "kong.consumer": consumer.id,
      "kong.credential": fakeCredential(consumer).id,
    });
  });

  it("omits the credential if include_credential is false", async (context) => {
    const consumer = fakeConsumer();
    const { spans } = await traced(
      context,
      { include_credential: false },
      { consumer, credential: fakeCredential(consumer) },
    );
    assert.deepEqual(
      Object.keys(spans.at(-1)?.tags ?? {}).filter((name) => /consumer|credential/.test(name)),
      ["kong.consumer"],
    );
  });

  it("shows durations of phases as tags with phase_duration_flavor: tags", async (context) => {
    const { spans } = await traced(context, { phase_duration_flavor: "tags" });
    const proxy = spans.at(-2);
    assert.deepEqual(
      [proxy?.tags["kong.access.duration_ms"], proxy?.tags["kong.body_filter.duration_ms"], proxy?.annotations],
      ["10", "9", undefined],
    );
  });

  it("uses the sender's span with B3 headers, and a new child of the sender's span with W3C headers", async (context) => {
    const b3 = await traced(context, {}, { headers: { b3: `${trace}-${span}-1-${parent}` } });
    const w3c = await traced(context, {}, { headers: { traceparent: `00-${trace}-${span}-01` } });
    const [ofB3, ofW3c] = [b3.spans.at(-1), w3c.spans.at(-1)];
    assert.deepEqual([ofB3?.traceId, ofB3?.id, ofB3?.parentId], [trace, span, parent]);
    assert.deepEqual([ofW3c?.traceId, ofW3c?.parentId, ofW3c?.id === span], [trace, span, false]);
    assert.equal(b3.exchange.upstreamHeaders.get("b3"), `${trace}-${b3.spans.at(-2)?.id}-1-${span}`);
  });

  it("sends the id of the proxy's span to the upstream in B3 headers if the request has no trace", async (context) => {
    const { exchange, spans } = await traced(context, {
      traceid_byte_count: 8,
      http_response_header_for_traceid: "X-Trace",
    });
    const [proxy, request] = spans.slice(-2);
    assert.match(request?.traceId ?? "", /^[\da-f]{16}$/);
    assert.deepEqual(exchange.upstreamHeaders.all(), {
      "x-b3-traceid": `${"0".repeat(16)}${request?.traceId}`,
      "x-b3-spanid": proxy?.id,
      "x-b3-parentspanid": request?.id,
      "x-b3-sampled": "1",
    });
    assert.equal(exchange.responseHeaders.get("X-Trace"), request?.traceId);
  });

  for (const [what, config, headers, count] of [
    ["records no request that the sender decided not to record", {}, { "x-b3-sampled": "0" }, 0],
    ["records a request that the sender decided to record", { sample_ratio: 0 }, { "x-b3-sampled": "1" }, 4],
    ["records no request with the ratio 0", { sample_ratio: 0 }, {}, 0],
  ] as const) {
    it(what, async (context) => {
      assert.equal((await traced(context, config, { headers })).spans.length, count);
    });
  }

  it("records a request that another plugin has answered", async (context) => {
    const { received, origin } = await startLogCollector(context);
    const config = withConfigDefaults("zipkin", { http_endpoint: `http://${origin}/`, sample_ratio: 1 });
    const instance = pluginInstance("zipkin", config, fakeContext({ plugin: "zipkin" }));
    instance.log?.(fakeExchange({ timings: { started: 1, ended: 2 }, status: 401 }));
    await instance.stop?.();
    const names = received.flatMap(({ body }) => (JSON.parse(body) as ReceivedSpan[]).map(({ name }) => name));
    assert.deepEqual(names, ["GET (proxy)", "GET"]);
  });

  for (const [config, violations] of [
    [{ http_endpoint: "zipkin.test" }, ["http_endpoint: missing scheme in url"]],
    [{ http_endpoint: "http://u:p@zipkin.test" }, ["http_endpoint: must not contain a user name or a password"]],
    [{ sample_ratio: 2 }, ["sample_ratio: value should be between 0 and 1"]],
    [{ traceid_byte_count: 4 }, ["traceid_byte_count: expected one of: 8, 16"]],
    [
      { static_tags: ["a", "a"].map((name) => ({ name, value: "b" })) },
      ["static_tags: repeated tags are not allowed: a"],
    ],
  ] as const) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("zipkin", config), violations);
    });
  }

  it("refuses a static tag that the plugin sets itself", () => {
    const [violation = ""] = configViolations("zipkin", { static_tags: [{ name: "lc", value: "x" }] });
    assert.match(violation, /^static_tags\.0\.name: must not be one of: error, http\.method/);
  });
});
