/** Plugins that act on connections that are not HTTP. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { EndedConnection } from "@sluice/plugin-sdk";
import {
  fakeContext,
  fakeRoute,
  fakeService,
  fakeStream,
  pluginInstance,
  printMetrics,
} from "../../test/plugins/fake-exchange.ts";
import { withConfigDefaults } from "../../test/plugins/filled-configs.ts";
import {
  type ReceivedSpan,
  startDatagramServer,
  startLineServer,
  startLogCollector,
  startLogging,
  type TextServer,
} from "../../test/plugins/log-servers.ts";
import { temporaryFolder } from "../../tools/process/index.ts";
import { builtInPlugins } from "./index.ts";

/** A connection to the second target, after the first one had refused it. */
const forwarded: Partial<EndedConnection> = {
  route: fakeRoute({ name: "r" }),
  service: fakeService({ name: "a.b" }),
  bytesIn: 120,
  bytesOut: 3000,
  timings: { started: 1000, forwarded: 1004, ended: 1050 },
  attempts: [
    { started: 1001, host: "10.0.0.1", port: 80, failed: true },
    { started: 1002, host: "10.0.0.2", port: 80, failed: false },
  ],
};

/** A connection that a plugin closed. */
const refused: Partial<EndedConnection> = {
  ...forwarded,
  ...{ status: 403, bytesOut: 0, timings: { started: 1000, ended: 1002 }, attempts: [] },
};

const workspace = "0dc6f45b-8f8d-40d2-a504-473544ee190b";

/** The lines that servers of metrics receive for a connection. */
const metricCases: readonly (readonly ["statsd" | "datadog", Partial<EndedConnection>, readonly string[]])[] = [
  [
    "statsd",
    forwarded,
    [
      "kong.service.a_b.request.count:1|c",
      "kong.service.a_b.latency:50|ms",
      "kong.service.a_b.request.size:120|c",
      "kong.service.a_b.status.200:1|c",
      "kong.service.a_b.response.size:3000|c",
      "kong.service.a_b.kong_latency:4|ms",
      `kong.service.a_b.workspace.${workspace}.status.200:1|c`,
    ],
  ],
  [
    "statsd",
    refused,
    [
      "kong.service.a_b.request.count:1|c",
      "kong.service.a_b.latency:2|ms",
      "kong.service.a_b.request.size:120|c",
      "kong.service.a_b.status.403:1|c",
      "kong.service.a_b.response.size:0|c",
      "kong.service.a_b.kong_latency:2|ms",
      `kong.service.a_b.workspace.${workspace}.status.403:1|c`,
    ],
  ],
  [
    "datadog",
    forwarded,
    [
      "kong.request.count:1|c|#name:a_b,status:200,app:kong",
      "kong.latency:50|ms|#name:a_b,status:200,app:kong",
      "kong.request.size:120|ms|#name:a_b,status:200,app:kong",
      "kong.response.size:3000|ms|#name:a_b,status:200,app:kong",
      "kong.kong_latency:4|ms|#name:a_b,status:200,app:kong",
    ],
  ],
  [
    "datadog",
    refused,
    [
      "kong.request.count:1|c|#name:a_b,status:403,app:kong",
      "kong.latency:2|ms|#name:a_b,status:403,app:kong",
      "kong.request.size:120|ms|#name:a_b,status:403,app:kong",
      "kong.response.size:0|ms|#name:a_b,status:403,app:kong",
      "kong.kong_latency:2|ms|#name:a_b,status:403,app:kong",
    ],
  ],
];

/** The spans that a Zipkin server receives for a connection. */
async function spansOf(
  test: TestContext,
  connection: Partial<EndedConnection>,
  config: object = {},
): Promise<readonly ReceivedSpan[]> {
  const { received, origin } = await startLogCollector(test, (response) => response.writeHead(202).end());
  const all = { http_endpoint: `http://${origin}/`, sample_ratio: 1, ...config };
  const { addConnection, stop } = startLogging(test, "zipkin", all);
  addConnection(connection);
  await stop();
  return received.flatMap(({ body }) => JSON.parse(body) as ReceivedSpan[]);
}

const RECORD = '{"session":{"received":5}}';

/** A log server, the config that names it, and the texts that it has received. */
interface LogServer {
  readonly config: object;
  received(): Promise<readonly string[]>;
}

const ofServer = ({ port, received }: TextServer, config: object = {}): LogServer => ({
  config: { host: "127.0.0.1", port, ...config },
  received: () => received(1),
});

const logServers: Readonly<Record<string, (test: TestContext) => Promise<LogServer>>> = {
  async "file-log"(test) {
    const folder = temporaryFolder("connections");
    test.after(() => folder.remove());
    const path = join(folder.path, "log");
    return { config: { path }, received: async () => [await readFile(path, "utf8")] };
  },
  async "http-log"(test) {
    const { origin, received } = await startLogCollector(test);
    return { config: { http_endpoint: `http://${origin}/` }, received: async () => received.map(({ body }) => body) };
  },
  loggly: async (test) => ofServer(await startDatagramServer(test), { key: "k" }),
  syslog: async (test) => ofServer(await startDatagramServer(test)),
  "tcp-log": async (test) => ofServer(await startLineServer(test)),
  "udp-log": async (test) => ofServer(await startDatagramServer(test)),
};

describe("connections", () => {
  for (const [name, start] of Object.entries(logServers))
    it(`are recorded by ${name} when they have ended`, async (test) => {
      const { config, received } = await start(test);
      const { addConnection, stop } = startLogging(test, name as "file-log", { ...config });
      addConnection({ logRecord: () => RECORD });
      await stop();
      const [text = ""] = await received();
      assert.ok(text.trimEnd().endsWith(RECORD), text);
    });

  for (const [name, connection, lines] of metricCases)
    it(`with the status ${connection.status ?? 200} are measured by ${name}`, async (test) => {
      const { port, received } = await startDatagramServer(test);
      const { addConnection, stop } = startLogging(test, name, { host: "127.0.0.1", port });
      addConnection(connection);
      addConnection(connection);
      await stop();
      // The second connection shows that no further lines were sent for the first one.
      assert.deepEqual(await received(lines.length * 2), [...lines, ...lines]);
    });

  it("whose status is in none of the configured ranges are not measured by statsd", async (test) => {
    const { port, received } = await startDatagramServer(test);
    const metrics = [{ name: "status_count", stat_type: "counter", sample_rate: 1 }];
    const config = { host: "127.0.0.1", port, metrics, allow_status_codes: ["400-599"] };
    const { addConnection } = startLogging(test, "statsd", config);
    addConnection(forwarded);
    addConnection(refused);
    assert.deepEqual(await received(1), ["kong.service.a_b.status.403:1|c"]);
  });

  it("have the spans of Kong in zipkin: of each attempt, of the time in the proxy, and of the connection", async (test) => {
    const static_tags = [{ name: "env", value: "test" }];
    const spans = await spansOf(test, forwarded, { static_tags });
    const connection = spans.at(-1);
    assert.deepEqual(
      spans.map(({ name, kind, duration, parentId }) => [name, kind, duration, parentId]),
      [
        ["stream (balancer try 1)", "CLIENT", 1000, connection?.id],
        ["stream (balancer try 2)", "CLIENT", 2000, connection?.id],
        ["stream (proxy)", "CLIENT", 50_000, connection?.id],
        ["stream", "SERVER", 50_000, undefined],
      ],
    );
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
    assert.deepEqual(connection?.tags, { lc: "kong", env: "test" });
    assert.deepEqual(connection?.remoteEndpoint, { ipv4: "192.0.2.1" });
    const proxy = spans.at(-2);
    const start = 1_700_000_000_000_000 - 50_000;
    assert.deepEqual(
      proxy?.annotations?.map(({ value, timestamp }) => [value, timestamp - start]),
      [
        ["kps", 0],
        ["kpf", 1000],
      ],
    );
    assert.deepEqual(
      [proxy?.tags["kong.service_name"], proxy?.tags["kong.route_name"], proxy?.tags["peer.hostname"]],
      ["a.b", "r", "users.test"],
    );
    assert.deepEqual(proxy?.remoteEndpoint, { serviceName: "a.b", ipv4: "10.0.0.2", port: 80 });
    assert.deepEqual([spans[0]?.tags.error, spans[1]?.tags.error], ["true", undefined]);
  });

  it("that a plugin closed have no span of an attempt in zipkin", async (test) => {
    const spans = await spansOf(test, refused, { phase_duration_flavor: "tags" });
    assert.deepEqual(
      spans.map(({ name, annotations }) => [name, annotations]),
      [
        ["stream (proxy)", undefined],
        ["stream", undefined],
      ],
    );
    assert.equal(spans[0]?.tags["kong.preread.duration_ms"], "2");
  });

  it("are not recorded by zipkin if sample_ratio is 0", async (test) => {
    assert.deepEqual(await spansOf(test, forwarded, { sample_ratio: 0 }), []);
  });

  for (const [latency_metrics, expected] of [
    [false, []],
    [
      true,
      [
        'sluice_gateway_latency_ms_sum{service="a.b",route="r",workspace="default"} 4',
        'sluice_session_duration_ms_sum{service="a.b",route="r",workspace="default"} 50',
      ],
    ],
  ] as const)
    it(`are ${latency_metrics ? "" : "not "}measured by prometheus with latency_metrics: ${latency_metrics}`, async () => {
      const context = fakeContext({ plugin: "prometheus" });
      const { connectionLog } = pluginInstance(
        "prometheus",
        withConfigDefaults("prometheus", { latency_metrics, status_code_metrics: true, bandwidth_metrics: true }),
        context,
      );
      connectionLog?.(fakeStream(forwarded));
      const lines = (await printMetrics(context.metrics.tables)).split("\n");
      assert.deepEqual(
        lines.filter((line) => /service=/.test(line) && !/_bucket|_count/.test(line)),
        expected,
      );
    });

  it("are handled by exactly these plugins", () => {
    const withPhases = [...Object.keys(logServers), "datadog", "prometheus", "statsd", "zipkin"];
    assert.deepEqual(
      builtInPlugins
        .flatMap(({ name, actsOnConnections }) => (actsOnConnections === undefined ? [] : [name]))
        .toSorted(),
      [...withPhases, "concurrency-limiting", "ip-restriction"].toSorted(),
    );
  });

  for (const [address, config, refusal] of [
    ["192.0.2.1", { deny: ["192.0.2.0/24"] }, { status: 403, reason: "IP address not allowed: 192.0.2.1" }],
    ["192.0.2.1", { allow: ["10.0.0.0/8"], status: 401, message: "no" }, { status: 401, reason: "no" }],
    ["10.0.0.1", { allow: ["10.0.0.0/8"] }, undefined],
  ] as const)
    it(`from ${address} are ${refusal === undefined ? "served" : "closed"} by ip-restriction with ${JSON.stringify(config)}`, () => {
      const filled = withConfigDefaults("ip-restriction", config);
      const { connection } = pluginInstance("ip-restriction", filled, fakeContext());
      assert.deepEqual(connection?.(fakeStream({ clientAddress: address })), refusal);
    });

  for (const [what, config, other] of [
    ["client", { limit: 1 }, { clientAddress: "192.0.2.2" }],
    ["service", { limit: 1, limit_by: "service" }, { service: fakeService({ id: "other" }) }],
    ["client without a consumer", { limit: 1, limit_by: "consumer" }, { clientAddress: "192.0.2.2" }],
  ] as const)
    it(`are limited by concurrency-limiting for each ${what}, until they end`, () => {
      const filled = withConfigDefaults("concurrency-limiting", config);
      const { connection, connectionLog } = pluginInstance("concurrency-limiting", filled, fakeContext());
      const [first, second, third] = [fakeStream(), fakeStream(), fakeStream(other)];
      const refusal = { status: 503, reason: "Too many requests in progress" };
      assert.deepEqual(
        [first, second, third].map((one) => connection?.(one)),
        [undefined, refusal, undefined],
      );
      connectionLog?.(second);
      assert.deepEqual(connection?.(second), refusal);
      connectionLog?.(first);
      assert.equal(connection?.(second), undefined);
    });

  it("of exempt clients are not limited by concurrency-limiting", () => {
    const filled = withConfigDefaults("concurrency-limiting", { limit: 1, exempt: ["192.0.2.0/24"] });
    const { connection } = pluginInstance("concurrency-limiting", filled, fakeContext());
    assert.deepEqual([connection?.(fakeStream()), connection?.(fakeStream())], [undefined, undefined]);
  });
});
