import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type FakeExchangeOptions, fakeConsumer, fakeService } from "../../../test/plugins/fake-exchange.ts";
import { configViolations } from "../../../test/plugins/filled-configs.ts";
import { datagramsWithFailure, startDatagramServer, startLogging } from "../../../test/plugins/log-servers.ts";

const host = "127.0.0.1";
const exchange: FakeExchangeOptions = {
  service: fakeService({ name: "a.b" }),
  consumer: fakeConsumer({ custom_id: "bar" }),
  bytesIn: 120,
  bytesOut: 3000,
  timings: { started: 1000, forwarded: 1004, answered: 1034, ended: 1050 },
};

const metric = (members: object) => ({
  metrics: [{ name: "request_count", stat_type: "counter", sample_rate: 1, ...members }],
});

const cases: readonly (readonly [
  what: string,
  config: object,
  exchange: FakeExchangeOptions,
  lines: readonly string[],
])[] = [
  [
    "the default metrics with the tags of service, status and consumer",
    {},
    exchange,
    [
      "kong.request.count:1|c|#name:a_b,status:200,consumer:bar,app:kong",
      "kong.latency:50|ms|#name:a_b,status:200,consumer:bar,app:kong",
      "kong.request.size:120|ms|#name:a_b,status:200,consumer:bar,app:kong",
      "kong.response.size:3000|ms|#name:a_b,status:200,consumer:bar,app:kong",
      "kong.upstream_latency:30|ms|#name:a_b,status:200,consumer:bar,app:kong",
      "kong.kong_latency:4|ms|#name:a_b,status:200,consumer:bar,app:kong",
    ],
  ],
  [
    "the configured prefix, rate and names of tags",
    {
      prefix: "p",
      service_name_tag: "upstream",
      status_tag: "http",
      consumer_tag: "user",
      ...metric({ sample_rate: 0.5, tags: ["T:V", "U"], consumer_identifier: "consumer_id" }),
    },
    exchange,
    ["p.request.count:1|c|@0.5|#upstream:a_b,http:200,user:33333333_3333_4333_8333_333333333333,T:V,U"],
  ],
  [
    "no tag of the consumer without consumer_identifier",
    metric({}),
    exchange,
    ["kong.request.count:1|c|#name:a_b,status:200"],
  ],
  [
    "the host of a service without a name, and no upstream latency if the request was not forwarded",
    { metrics: [{ name: "upstream_latency", stat_type: "timer" }, ...metric({ stat_type: "distribution" }).metrics] },
    { ...exchange, service: fakeService({ name: null, host: "up.test" }), timings: { started: 0, ended: 5 } },
    ["kong.request.count:1|d|#name:up_test,status:200"],
  ],
  [
    "values of entities with `_` instead of characters that would end a tag",
    metric({ consumer_identifier: "custom_id" }),
    { ...exchange, consumer: fakeConsumer({ custom_id: "a|b,c\nd" }) },
    ["kong.request.count:1|c|#name:a_b,status:200,consumer:a_b_c_d"],
  ],
];

describe("datadog", () => {
  for (const [what, config, exchange, lines] of cases) {
    it(`sends ${what}`, async (context) => {
      const { port, received } = await startDatagramServer(context);
      startLogging(context, "datadog", { host, port, ...config }).add(exchange);
      assert.deepEqual(await received(lines.length), lines);
    });
  }

  it("sends nothing for an exchange that has no value for the only configured metric", async (context) => {
    const { port, received } = await startDatagramServer(context);
    const config = { host, port, metrics: [{ name: "upstream_latency", stat_type: "timer" }] };
    const instance = startLogging(context, "datadog", config);
    instance.add({ ...exchange, timings: { started: 0, ended: 5 } });
    instance.add(exchange);
    assert.deepEqual(await received(1), ["kong.upstream_latency:30|ms|#name:a_b,status:200"]);
  });

  it("does not resend the datagrams of a batch that were sent before another datagram failed", async () => {
    const metrics = ["request_count", "request_size"].map((name) => ({ name, stat_type: "counter", sample_rate: 1 }));
    const [first, second] = ["kong.request.count:1|c|#name:a,status:200", "kong.request.size:7|c|#name:a,status:200"];
    assert.deepEqual(await datagramsWithFailure("datadog", { metrics }), [first, second, second]);
  });

  const refused: readonly (readonly [object, readonly string[]])[] = [
    [
      metric({ sample_rate: null }),
      [
        "metrics.0.sample_rate: required field missing",
        "metrics.0.@entity: failed conditional validation given value of field 'stat_type'",
      ],
    ],
    [metric({ tags: ["a:"] }), ["metrics.0.tags.0: invalid value: a:"]],
    [metric({ sample_rate: 2 }), ["metrics.0.sample_rate: value should be between 0 and 1"]],
    [
      metric({ name: "x" }),
      [
        "metrics.0.name: expected one of: kong_latency, latency, request_count, request_size, response_size, upstream_latency",
      ],
    ],
  ];
  for (const [config, violations] of refused) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("datadog", config), violations);
    });
  }
});
