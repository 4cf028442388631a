import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import protobuf from "protobufjs";
import {
  type FakeExchangeOptions,
  fakeContext,
  fakeExchange,
  pluginInstance,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { startLogCollector } from "../../../test/plugins/log-servers.ts";

/** The fields of opentelemetry-proto (trace/v1/trace.proto) that the tests read. */
const definitions = protobuf.parse(`syntax = "proto3";
  message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message Status { string message = 2; int32 code = 3; }
  message Span { bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9; Status status = 15; }
  message Scope { string name = 1; string version = 2; }
  message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Request { repeated ResourceSpans resource_spans = 1; }`);
const Request = definitions.root.lookupType("Request");

type Attributes = readonly { readonly key: string; readonly value: { stringValue?: string; intValue?: string } }[];

interface Decoded {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly { readonly spans: readonly DecodedSpan[] }[];
  }[];
}

interface DecodedSpan {
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly parentSpanId?: Buffer;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Attributes;
  readonly status?: { readonly code?: number };
}

const plain = (attributes: Attributes) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));

function decode(bytes: Buffer) {
  const request = Request.toObject(Request.decode(bytes), { longs: String, bytes: Buffer }) as Decoded;
  const [about] = request.resourceSpans;
  const spans = (about?.scopeSpans ?? []).flatMap((scope) =>
    scope.spans.map((span) => ({
      traceId: span.traceId.toString("hex"),
      spanId: span.spanId.toString("hex"),
      parentId: span.parentSpanId?.toString("hex") || null,
      name: span.name,
      kind: span.kind,
      start: BigInt(span.startTimeUnixNano),
      end: BigInt(span.endTimeUnixNano),
      attributes: plain(span.attributes),
      failed: span.status?.code === 2,
    })),
  );
  return { resource: plain(about?.resource.attributes ?? []), spans };
}

const trace = "0af7651916cd43dd8448eb211c80319c";
const span = "b7ad6b7169203331";
const NOW = 1_700_000_000_000n;

const proxied: FakeExchangeOptions = {
  timings: { started: 100, forwarded: 110, answered: 120.5, ended: 130 },
  attempts: [
    { started: 105, host: "10.0.0.1", port: 80, failed: true },
    { started: 110.25, host: "10.0.0.2", port: 80, failed: false },
  ],
};

/** Runs one exchange with a plugin instance. Returns the exchange, and what a collector received. */
async function traced(context: TestContext, config: object, options: FakeExchangeOptions = {}) {
  const { received, origin } = await startLogCollector(context);
  const complete = withConfigDefaults("opentelemetry", { traces_endpoint: `http://${origin}/v1/traces`, ...config });
  const instance = pluginInstance("opentelemetry", complete, fakeContext({ plugin: "opentelemetry" }));
  const exchange = fakeExchange({ ...proxied, ...options });
  await instance.access?.(exchange);
  instance.responseHeaders?.(exchange);
  instance.log?.(exchange);
  await instance.stop?.();
  const requests = received.map(({ bytes }) => decode(bytes));
  return { exchange, received, requests, spans: requests.flatMap((request) => request.spans) };
}

describe("opentelemetry", () => {
  it("sends a span of the request and one of each attempt in one Protobuf message", async (context) => {
    const { received, requests, spans } = await traced(context, { headers: { "X-Token": "t" } });
    assert.deepEqual(
      received.map(({ method, url, headers }) => [method, url, headers["content-type"], headers["x-token"]]),
      [["POST", "/v1/traces", "application/x-protobuf", "t"]],
    );
    const [server, first, last] = spans;
    assert.deepEqual(
      spans.map(({ name, kind, parentId, failed }) => [name, kind, parentId, failed]),
      [
        ["GET users-route", 2, null, false],
        ["GET", 3, server?.spanId, true],
        ["GET", 3, server?.spanId, false],
      ],
    );
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
    assert.deepEqual([server?.start, server?.end], [(NOW - 30n) * 1_000_000n, NOW * 1_000_000n]);
    assert.deepEqual([first?.end, last?.start], Array(2).fill(NOW * 1_000_000n - 19_750_000n));
    assert.deepEqual(server?.attributes, {
      "http.request.method": "GET",
      "url.scheme": "http",
      "url.path": "/users",
      "server.address": "localhost",
      "server.port": 8000,
      "client.address": "192.0.2.1",
      "network.protocol.version": "1.1",
      "sluice.request_id": "0123456789abcdef",
      "sluice.route": "users-route",
      "sluice.service": "users",
      "http.response.status_code": 200,
    });
    assert.deepEqual(last?.attributes, {
      "http.request.method": "GET",
      "server.address": "10.0.0.2",
      "server.port": 80,
      "http.request.resend_count": 1,
      "http.response.status_code": 200,
    });
    assert.deepEqual(Object.keys(requests[0]?.resource ?? {}), ["service.name", "service.version"]);
  });

  it("sends the type, name and hash of an operation of GraphQL with the span of the request", async (context) => {
    const shared = {
      "graphql.operation.type": "query",
      "graphql.operation": "Users",
      "graphql.document.hash": "a".repeat(64),
    };
    const attributesOf = async (values: Readonly<Record<string, string>>) => {
      const [server] = (await traced(context, {}, { shared: values })).spans;
      return Object.entries(server?.attributes ?? {}).filter(([name]) => name.startsWith("graphql."));
    };
    assert.deepEqual(Object.fromEntries(await attributesOf(shared)), {
      "graphql.operation.type": "query",
      "graphql.operation.name": "Users",
      "graphql.document.hash": "a".repeat(64),
    });
    const unnamed = await attributesOf({ ...shared, "graphql.operation": "(unnamed)" });
    assert.deepEqual(unnamed.map(([name]) => name).toSorted(), ["graphql.document.hash", "graphql.operation.type"]);
  });

  it("sends the configured Content-Type and resource attributes", async (context) => {
    const { requests, received } = await traced(context, {
      resource_attributes: { "service.name": "edge", region: "eu" },
      headers: { "content-type": "application/octet-stream" },
    });
    assert.deepEqual([requests[0]?.resource["service.name"], requests[0]?.resource.region], ["edge", "eu"]);
    assert.equal(received[0]?.headers["content-type"], "application/octet-stream");
  });

  it("continues the sender's trace, and sends the id of the last attempt's span to the upstream", async (context) => {
    const { exchange, spans } = await traced(
      context,
      { http_response_header_for_traceid: "X-Trace-Id" },
      { headers: { traceparent: `00-${trace}-${span}-01` } },
    );
    assert.deepEqual([spans[0]?.traceId, spans[0]?.parentId], [trace, span]);
    assert.equal(exchange.upstreamHeaders.get("traceparent"), `00-${trace}-${spans.at(-1)?.spanId}-01`);
    assert.equal(exchange.responseHeaders.get("x-trace-id"), trace);
    assert.equal(exchange.logFields.get("trace_id.w3c"), trace);
  });

  it("marks the request's span as failed for a status of 500 or above", async (context) => {
    const { spans } = await traced(context, {}, { status: 502, source: "gateway", attempts: [] });
    assert.deepEqual(
      spans.map(({ failed, attributes }) => [failed, attributes["error.type"]]),
      [[true, "502"]],
    );
  });

  for (const [what, config, headers, flags, count] of [
    ["records all traces by default", {}, {}, "01", 3],
    ["records no trace that the sender decided not to record", {}, { traceparent: `00-${trace}-${span}-00` }, "00", 0],
    ["records no trace with the rate 0", { sampling_rate: 0 }, {}, "00", 0],
    // The first eight bytes of the trace id, as a little-endian integer, are 0.864 of the maximum.
    ["records a trace with an id below the rate", { sampling_rate: 0.87 }, { b3: `${trace}-${span}` }, null, 3],
    ["records no trace with an id above the rate", { sampling_rate: 0.86 }, { b3: `${trace}-${span}` }, null, 0],
  ] as const) {
    it(what, async (context) => {
      const { spans, exchange } = await traced(context, config, { headers });
      assert.equal(spans.length, count);
      if (flags !== null) assert.match(exchange.upstreamHeaders.get("traceparent") ?? "", new RegExp(`-${flags}$`));
    });
  }

  it("records a request that another plugin has answered", async (context) => {
    const { received, origin } = await startLogCollector(context);
    const config = withConfigDefaults("opentelemetry", { traces_endpoint: `http://${origin}/` });
    const instance = pluginInstance("opentelemetry", config, fakeContext({ plugin: "opentelemetry" }));
    instance.log?.(fakeExchange({ timings: { started: 1, ended: 2 }, status: 401, source: "gateway" }));
    await instance.stop?.();
    assert.deepEqual(
      received.flatMap(({ bytes }) =>
        decode(bytes).spans.map(({ attributes }) => attributes["http.response.status_code"]),
      ),
      [401],
    );
  });

  it("accepts endpoint, batch_span_count and batch_flush_delay, the former names of members", () => {
    const { queue, traces_endpoint: url } = withConfigDefaults("opentelemetry", {
      endpoint: "http://a.test/v1/traces",
      batch_span_count: 10,
      batch_flush_delay: 2,
    });
    assert.deepEqual([url, queue.max_batch_size, queue.max_coalescing_delay], ["http://a.test/v1/traces", 10, 2]);
  });

  it("sends up to 200 spans together by default", () => {
    for (const queue of [undefined, { max_entries: 500 }]) {
      const config = withConfigDefaults("opentelemetry", { traces_endpoint: "http://a.test", ...(queue && { queue }) });
      assert.equal(config.queue.max_batch_size, 200);
    }
  });

  for (const [config, expected] of [
    [{}, "at least one of these fields must be non-empty: 'config.traces_endpoint', 'config.logs_endpoint'"],
    [{ traces_endpoint: "a.test" }, "traces_endpoint: missing scheme in url"],
    [{ logs_endpoint: "http://a.test" }, "logs_endpoint: the node's log is not sent to collectors"],
    [{ traces_endpoint: "http://a.test", sampling_rate: 2 }, "sampling_rate: value should be between 0 and 1"],
    [{ traces_endpoint: "http://a.test", header_type: "x" }, "header_type: expected one of: preserve, ignore, w3c"],
    [
      { traces_endpoint: "http://a.test", propagation: { extract: ["b3-single"], default_format: "w3c" } },
      "propagation.extract.0: expected one of: w3c, b3, jaeger",
    ],
  ] as const) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      const violations = configViolations("opentelemetry", config).join("\n");
      assert.ok(violations.includes(expected), violations);
    });
  }
});
