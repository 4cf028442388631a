import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, it } from "node:test";
import { type FakeExchangeOptions, fakeConsumer, fakeRoute, fakeService } from "../../../test/plugins/fake-exchange.ts";
import { configViolations } from "../../../test/plugins/filled-configs.ts";
import {
  datagramsWithFailure,
  startDatagramServer,
  startLineServer,
  startLogging,
} from "../../../test/plugins/log-servers.ts";

const host = "127.0.0.1";
const exchange: FakeExchangeOptions = {
  service: fakeService({ name: "a.b" }),
  consumer: fakeConsumer({ custom_id: "bar" }),
  route: fakeRoute({ name: "r" }),
  bytesIn: 120,
  bytesOut: 3000,
  timings: { started: 1000, forwarded: 1004, answered: 1034, ended: 1050 },
};
const workspace = "0dc6f45b-8f8d-40d2-a504-473544ee190b";
const machine = hostname().replaceAll(".", "_");

const metric = (name: string, members: object = {}) => ({
  metrics: [{ name, stat_type: "counter", sample_rate: 1, ...members }],
});
const tagged = { ...metric("request_count"), prefix: "p" };
const tags = (join: string) =>
  ["service", "a.b", "route", "r", "workspace", workspace, "consumer", "bar", "node", machine, "status", "200"]
    .map((text, at, all) => (at % 2 === 0 ? `${text}${join}${all[at + 1]}` : ""))
    .filter(Boolean)
    .join(",");

type Case = readonly [what: string, config: object, exchange: FakeExchangeOptions, lines: readonly string[]];
const cases: readonly Case[] = [
  [
    "Kong's default metrics",
    {},
    exchange,
    [
      "kong.service.a_b.request.count:1|c",
      "kong.service.a_b.latency:50|ms",
      "kong.service.a_b.request.size:120|c",
      "kong.service.a_b.status.200:1|c",
      "kong.service.a_b.response.size:3000|c",
      "kong.service.a_b.user.uniques:bar|s",
      "kong.service.a_b.user.bar.request.count:1|c",
      "kong.service.a_b.upstream_latency:30|ms",
      "kong.service.a_b.kong_latency:4|ms",
      "kong.service.a_b.user.bar.status.200:1|c",
      `kong.service.a_b.workspace.${workspace}.status.200:1|c`,
      "kong.route.22222222-2222-4222-8222-222222222222.user.bar.status.200:1|c",
    ],
  ],
  [
    "no metrics of consumers for a request without a consumer, and no upstream latency without an upstream",
    {},
    { ...exchange, consumer: null, timings: { started: 0, ended: 5 } },
    [
      "kong.service.a_b.request.count:1|c",
      "kong.service.a_b.latency:5|ms",
      "kong.service.a_b.request.size:120|c",
      "kong.service.a_b.status.200:1|c",
      "kong.service.a_b.response.size:3000|c",
      "kong.service.a_b.kong_latency:5|ms",
      `kong.service.a_b.workspace.${workspace}.status.200:1|c`,
    ],
  ],
  [
    "metrics of a route without a service under global.unmatched",
    metric("request_count", { sample_rate: 0.5 }),
    { ...exchange, service: null },
    ["kong.global.unmatched.request.count:1|c|@0.5"],
  ],
  [
    "metrics of a service without the configured member under service.unnamed",
    metric("request_count", { service_identifier: "service_name" }),
    { ...exchange, service: fakeService({ name: null }) },
    ["kong.service.unnamed.request.count:1|c"],
  ],
  [
    "the identifiers that the config names as defaults",
    {
      ...metric("status_count_per_user"),
      consumer_identifier_default: "username",
      service_identifier_default: "service_host",
    },
    exchange,
    ["kong.service.users_test.user.demo.status.200:1|c"],
  ],
  [
    "the workspace's name",
    metric("status_count_per_workspace", { workspace_identifier: "workspace_name" }),
    exchange,
    ["kong.service.a_b.workspace.default.status.200:1|c"],
  ],
  [
    "the machine's name in the prefix",
    { ...metric("request_count"), hostname_in_prefix: true },
    exchange,
    [`kong.node.${machine}.service.a_b.request.count:1|c`],
  ],
  ["tags of dogstatsd", { ...tagged, tag_style: "dogstatsd" }, exchange, [`p.request.count:1|c|#${tags(":")}`]],
  ["tags of influxdb", { ...tagged, tag_style: "influxdb" }, exchange, [`p.request.count,${tags("=")}:1|c`]],
  ["tags of librato", { ...tagged, tag_style: "librato" }, exchange, [`p.request.count#${tags("=")}:1|c`]],
  ["tags of signalfx", { ...tagged, tag_style: "signalfx" }, exchange, [`p.request.count[${tags("=")}]:1|c`]],
  [
    "no tags without a service",
    { ...tagged, tag_style: "signalfx" },
    { ...exchange, service: null },
    ["p.request.count:1|c"],
  ],
];

describe("statsd", () => {
  for (const [what, config, exchange, lines] of cases) {
    it(`sends ${what}`, async (context) => {
      const { port, received } = await startDatagramServer(context);
      const { add, stop } = startLogging(context, "statsd", { host, port, ...config });
      add(exchange);
      add(exchange);
      await stop();
      // The second exchange shows that no further lines were sent for the first one.
      assert.deepEqual(await received(lines.length * 2), [...lines, ...lines]);
    });
  }

  it("combines metrics into datagrams of at most the configured size", async (context) => {
    const { port, received } = await startDatagramServer(context);
    const metrics = ["request_count", "status_count", "request_size"].map((name) => metric(name).metrics[0]);
    startLogging(context, "statsd", { host, port, metrics, udp_packet_size: 70 }).add(exchange);
    assert.deepEqual(await received(2), [
      "kong.service.a_b.request.count:1|c\nkong.service.a_b.status.200:1|c",
      "kong.service.a_b.request.size:120|c",
    ]);
  });

  it("sends metrics as lines over TCP", async (context) => {
    const { port, received } = await startLineServer(context);
    startLogging(context, "statsd", { host, port, ...metric("request_count"), use_tcp: true }).add(exchange);
    assert.deepEqual(await received(1), ["kong.service.a_b.request.count:1|c"]);
  });

  it("sends no metrics for responses whose status is in none of the configured ranges", async (context) => {
    const { port, received } = await startDatagramServer(context);
    const config = { host, port, ...metric("status_count"), allow_status_codes: ["200-204", "500-599"] };
    const { add } = startLogging(context, "statsd", config);
    for (const status of [200, 205, 404, 599]) add({ ...exchange, status });
    assert.deepEqual(await received(2), ["kong.service.a_b.status.200:1|c", "kong.service.a_b.status.599:1|c"]);
  });

  it("when a datagram of a batch fails, does not resend the datagrams that were sent before it", async () => {
    const metrics = ["request_count", "request_size"].map((name) => ({ name, stat_type: "counter", sample_rate: 1 }));
    const [first, second] = ["kong.service.a.request.count:1|c", "kong.service.a.request.size:7|c"];
    assert.deepEqual(await datagramsWithFailure("statsd", { udp_packet_size: 0, metrics }), [first, second, second]);
  });

  const refused: readonly (readonly [object, readonly string[]])[] = [
    [
      metric("latency", { sample_rate: null }),
      [
        "metrics.0.sample_rate: required field missing",
        "metrics.0.@entity: failed conditional validation given value of field 'stat_type'",
      ],
    ],
    [metric("latency", { sample_rate: 0 }), ["metrics.0.sample_rate: value must be greater than 0"]],
    [{ allow_status_codes: ["2xx"] }, ["allow_status_codes.0: invalid value: 2xx"]],
    [{ udp_packet_size: 65_508 }, ["udp_packet_size: value should be between 0 and 65507"]],
    [{ tag_style: "x" }, ["tag_style: expected one of: dogstatsd, influxdb, librato, signalfx"]],
  ];
  for (const [config, violations] of refused) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("statsd", config), violations);
    });
  }
});
