import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createMetrics,
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeExchange,
  fakeRoute,
  fakeService,
  printMetrics,
} from "../../../test/plugins/fake-exchange.ts";
import { filledPrometheus } from "../../../test/plugins/filled-configs.ts";
import { prometheus } from "./index.ts";
import type { PrometheusConfig } from "./schema.ts";

const everything = { status_code_metrics: true, latency_metrics: true, bandwidth_metrics: true };

/** The lines with the label `service` after one exchange, except those with the buckets and counts of histograms. */
async function logged(config: Partial<PrometheusConfig>, options: FakeExchangeOptions = {}, compat = false) {
  const metrics = createMetrics({ compat, nodeId: "node-1", version: "0.0.0" });
  prometheus.phases({ ...filledPrometheus, ...config }, fakeContext({ metrics })).log?.(fakeExchange(options));
  const lines = (await printMetrics(metrics.tables)).split("\n");
  return lines.filter((line) => /service=/.test(line) && !/_bucket|_count/.test(line));
}

const proxied: FakeExchangeOptions = {
  status: 200,
  bytesIn: 120,
  bytesOut: 3000,
  timings: { started: 1000, forwarded: 1004, answered: 1034, ended: 1050 },
  consumer: fakeConsumer(),
};
const here = 'service="users",route="users-route"';

const variants: readonly (readonly [string, Partial<PrometheusConfig>, FakeExchangeOptions, readonly string[]])[] = [
  ["nothing by default", {}, proxied, []],
  [
    "requests by status",
    { status_code_metrics: true },
    proxied,
    [`sluice_http_requests_total{${here},code="200",source="service",workspace="default",consumer=""} 1`],
  ],
  [
    "requests by consumer",
    { status_code_metrics: true, per_consumer: true },
    proxied,
    [`sluice_http_requests_total{${here},code="200",source="service",workspace="default",consumer="demo"} 1`],
  ],
  [
    "bytes in both directions",
    { bandwidth_metrics: true },
    proxied,
    [
      `sluice_bandwidth_bytes{${here},direction="ingress",workspace="default",consumer=""} 120`,
      `sluice_bandwidth_bytes{${here},direction="egress",workspace="default",consumer=""} 3000`,
    ],
  ],
  ["no bytes for an empty request", { bandwidth_metrics: true }, { bytesIn: 0, bytesOut: 0 }, []],
  [
    "latencies: the gateway's, the upstream's and the total",
    { latency_metrics: true },
    proxied,
    [
      `sluice_gateway_latency_ms_sum{${here},workspace="default"} 4`,
      `sluice_upstream_latency_ms_sum{${here},workspace="default"} 30`,
      `sluice_request_latency_ms_sum{${here},workspace="default"} 50`,
    ],
  ],
  [
    "a response of the gateway itself",
    { latency_metrics: true, status_code_metrics: true },
    { status: 429, source: "gateway", timings: { started: 10, ended: 12 } },
    [
      `sluice_http_requests_total{${here},code="429",source="gateway",workspace="default",consumer=""} 1`,
      `sluice_gateway_latency_ms_sum{${here},workspace="default"} 2`,
      `sluice_request_latency_ms_sum{${here},workspace="default"} 2`,
    ],
  ],
  [
    "a request whose client disconnected, with status 499",
    { status_code_metrics: true },
    { status: 0 },
    [`sluice_http_requests_total{${here},code="499",source="service",workspace="default",consumer=""} 1`],
  ],
  [
    "the host of a service and the id of a route if they have no name",
    { status_code_metrics: true },
    { service: fakeService({ name: null }), route: fakeRoute({ name: null, id: "r-1" }) },
    [
      'sluice_http_requests_total{service="users.test",route="r-1",code="200",source="service",workspace="default",consumer=""} 1',
    ],
  ],
  [
    "a request to a route without a service",
    { status_code_metrics: true },
    { service: null, status: 503, source: "gateway" },
    [
      'sluice_http_requests_total{service="",route="users-route",code="503",source="gateway",workspace="default",consumer=""} 1',
    ],
  ],
];

describe("prometheus", () => {
  for (const [what, config, options, lines] of variants) {
    it(`records ${what}`, async () => assert.deepEqual(await logged(config, options), lines));
  }

  it("uses Kong's names of metrics with SLUICE_COMPAT=kong", async () => {
    const lines = await logged(everything, { ...proxied, source: "gateway" }, true);
    assert.deepEqual(lines, [
      `kong_http_requests_total{${here},code="200",source="kong",workspace="default",consumer=""} 1`,
      `kong_bandwidth_bytes{${here},direction="ingress",workspace="default",consumer=""} 120`,
      `kong_bandwidth_bytes{${here},direction="egress",workspace="default",consumer=""} 3000`,
      `kong_kong_latency_ms_sum{${here},workspace="default"} 4`,
      `kong_upstream_latency_ms_sum{${here},workspace="default"} 30`,
      `kong_request_latency_ms_sum{${here},workspace="default"} 50`,
    ]);
  });
});
