import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics, type GatewayMetricsOptions } from "./metrics.ts";
import { TEXT_FORMAT } from "./slices.ts";
import { printMetrics } from "./testing-text.ts";

const node = (members: Partial<GatewayMetricsOptions> = {}) =>
  createMetrics({ compat: false, nodeId: "node-1", version: "1.2.3", ...members });

const labels = (route: string) => ({ service: "s", route, consumer: "" });

async function lines(metrics: ReturnType<typeof node>, start: string) {
  const text = await printMetrics(metrics.tables);
  return text.split("\n").filter((line) => line.startsWith(start));
}

describe("createMetrics", () => {
  it("reports node, version and memory without any request, as text", async () => {
    const metrics = node();
    assert.match(TEXT_FORMAT, /^text\/plain/);
    assert.deepEqual(await lines(metrics, "sluice_node_info"), [
      'sluice_node_info{node_id="node-1",version="1.2.3"} 1',
    ]);
    const memory = await lines(metrics, "sluice_memory_bytes");
    assert.deepEqual(
      memory.map((line) => line.match(/kind="(\w+)"/)?.[1]),
      ["rss", "heap_total", "heap_used", "external", "clients"],
    );
    const values = memory.map((line) => Number(line.split(" ").at(-1)));
    assert.ok(values.every((value, index) => (index === 4 ? value === 0 : value > 0)));
  });

  it("reads the connections at every scrape", async () => {
    const metrics = node();
    assert.deepEqual(await lines(metrics, "sluice_connections"), []);
    let active = 0;
    metrics.read({
      connections() {
        active += 1;
        return { accepted: 9, handled: 9, active, reading: 0, writing: 1, waiting: 2, requests: 40 };
      },
    });
    const state = (name: string) => `sluice_connections{node_id="node-1",subsystem="http",state="${name}"}`;
    assert.ok((await lines(metrics, "sluice_connections")).includes(`${state("accepted")} 9`));
    const before = active;
    assert.ok((await lines(metrics, state("active"))).every((line) => Number(line.split(" ").at(-1)) > before));
    assert.deepEqual(await lines(metrics, "sluice_requests_received"), [
      'sluice_requests_received{node_id="node-1",subsystem="http"} 40',
    ]);
  });

  it("counts replaced counters of rate limits from 0, so that an alert on an increase sees the first one", async () => {
    const metrics = node();
    const name = "sluice_rate_limit_counters_replaced_total";
    assert.deepEqual(await lines(metrics, name), [`${name}{} 0`]);
    metrics.countReplacedCounter();
    assert.deepEqual(await lines(metrics, name), [`${name}{} 1`]);
  });

  it("shows orders of certificates only once the node orders", async () => {
    const metrics = node();
    assert.deepEqual(await lines(metrics, "sluice_acme"), []);
    const count = metrics.startOrders();
    count({ kind: "renewal", result: "failed" });
    metrics.read({
      orderedCertificates: () => [{ id: "c1", name: "a.example", expires: 1_900_000_000, renewal: 0, failures: 2 }],
    });
    const ofCertificate = '{node_id="node-1",certificate="c1"}';
    assert.deepEqual(await lines(metrics, "sluice_acme"), [
      'sluice_acme_orders_total{kind="first",result="issued"} 0',
      'sluice_acme_orders_total{kind="first",result="failed"} 0',
      'sluice_acme_orders_total{kind="renewal",result="issued"} 0',
      'sluice_acme_orders_total{kind="renewal",result="failed"} 1',
      `sluice_acme_certificate_expiry_timestamp_seconds${ofCertificate} 1900000000`,
      `sluice_acme_certificate_renewal_timestamp_seconds${ofCertificate} 0`,
      `sluice_acme_certificate_failures${ofCertificate} 2`,
    ]);
  });

  it("reports only the document that the node runs", async () => {
    const metrics = node();
    for (const config of [
      { hash: "aa", revision: 1 },
      { hash: "bb", revision: 2 },
    ])
      metrics.read({ config: () => config });
    assert.deepEqual(await lines(metrics, "sluice_config_info"), ['sluice_config_info{node_id="node-1",hash="bb"} 2']);
  });

  it("reports the state of every target at the time of the scrape", async () => {
    const metrics = node({ compat: true });
    let health: "HEALTHY" | "UNHEALTHY" = "HEALTHY";
    metrics.read({ targets: () => [{ upstream: "pool", target: "a:1", address: "a:1", health }] });
    const states = async () =>
      (await lines(metrics, "kong_upstream_target_health{")).map(
        (line) => `${line.match(/state="(\w+)"/)?.[1]} ${line.split(" ").at(-1)}`,
      );
    assert.deepEqual(await states(), ["healthchecks_off 0", "healthy 1", "unhealthy 0"]);
    health = "UNHEALTHY";
    assert.deepEqual(await states(), ["healthchecks_off 0", "healthy 0", "unhealthy 1"]);
  });

  it("reports whether the node can read its configuration, and how many entities the node serves", async () => {
    const metrics = node({ compat: true });
    assert.deepEqual(await lines(metrics, "kong_datastore_reachable"), []);
    let [isReachable, routes] = [true, 2];
    metrics.read({ datastore: () => isReachable, entities: () => ({ services: 1, routes }) });
    const facts = async () => [
      ...(await lines(metrics, "kong_datastore_reachable")),
      ...(await lines(metrics, "kong_db_entities_total")),
    ];
    assert.deepEqual(await facts(), [
      'kong_datastore_reachable{node_id="node-1"} 1',
      'kong_db_entities_total{node_id="node-1",kind="services"} 1',
      'kong_db_entities_total{node_id="node-1",kind="routes"} 2',
    ]);
    [isReachable, routes] = [false, 0];
    assert.deepEqual(
      (await facts()).map((line) => line.split(" ").at(-1)),
      ["0", "1", "0"],
    );
  });

  it("has the same histogram buckets as Kong", async () => {
    const metrics = node({ compat: true });
    metrics.recorder(labels("r")).latency("gatewayLatency", 3);
    metrics.recorder(labels("r")).latency("upstreamLatency", 3);
    const buckets = async (name: string) =>
      (await lines(metrics, `${name}_bucket`)).map((line) => line.match(/le="([^"]+)"/)?.[1]).join(",");
    assert.equal(
      await buckets("kong_kong_latency_ms"),
      "1,2,5,7,10,15,20,30,50,75,100,200,500,750,1000,3000,6000,+Inf",
    );
    assert.equal(
      await buckets("kong_upstream_latency_ms"),
      "25,50,80,100,250,400,700,1000,2000,5000,10000,30000,60000,+Inf",
    );
  });

  it("keeps no more series of a metric than the limit, and drops the least recently used series", async () => {
    const metrics = node({ maxSeries: 2 });
    for (const route of ["a", "b", "a", "c"]) {
      metrics.recorder(labels(route)).request(200, "service");
    }
    const counted = (await lines(metrics, "sluice_http_requests_total")).map(
      (line) => `${line.match(/route="(\w)"/)?.[1]} ${line.split(" ").at(-1)}`,
    );
    assert.deepEqual(counted.toSorted(), ["a 2", "c 1"]);
  });

  it("restarts a dropped series at 0, even for a recorder that was created before the drop", async () => {
    const metrics = node({ maxSeries: 1 });
    const [kept, other] = [metrics.recorder(labels("kept")), metrics.recorder(labels("other"))];
    kept.bytes(5, 0);
    other.bytes(7, 0);
    assert.match((await lines(metrics, "sluice_bandwidth_bytes")).join(), /route="other".* 7$/);
    kept.bytes(3, 0);
    const text = await lines(metrics, "sluice_bandwidth_bytes");
    assert.equal(text.length, 1);
    assert.match(text.join(), /route="kept".* 3$/);
  });

  it("reports cumulative buckets, and counts values beyond the last bound in +Inf", async () => {
    const metrics = node();
    const recorder = metrics.recorder(labels("r"));
    for (const milliseconds of [25, 26, 700, 60_001]) recorder.latency("requestLatency", milliseconds);
    const text = await lines(metrics, "sluice_request_latency_ms");
    const counts = text.map((line) => `${line.match(/le="([^"]+)"/)?.[1]} ${line.split(" ").at(-1)}`);
    for (const count of ["25 1", "50 2", "400 2", "700 3", "60000 3", "+Inf 4"])
      assert.ok(counts.includes(count), count);
    assert.deepEqual(text.slice(-2), [
      'sluice_request_latency_ms_sum{service="s",route="r",workspace="default"} 60752',
      'sluice_request_latency_ms_count{service="s",route="r",workspace="default"} 4',
    ]);
  });

  it("counts the requests of two nodes in one process separately", async () => {
    const [one, other] = [node(), node()];
    one.recorder(labels("r")).request(200, "service");
    assert.equal((await lines(one, "sluice_http_requests_total")).length, 1);
    assert.equal((await lines(other, "sluice_http_requests_total")).length, 0);
  });
});

describe("a metric of a plugin", () => {
  const options = { name: "events_total", help: "Events.", labelNames: ["kind"] };

  it("is shared by the instances of the plugin", async () => {
    const metrics = node();
    metrics.pluginCounter("my-words", options).add(1, ["a"]);
    metrics.pluginCounter("my-words", options).add(2, ["a"]);
    assert.deepEqual(await lines(metrics, "sluice_my_words_events_total"), [
      'sluice_my_words_events_total{kind="a"} 3',
    ]);
  });

  it("may have any names that Prometheus accepts", async () => {
    const metrics = node();
    metrics
      .pluginCounter("my-words", { ...options, name: "5xxTotal", labelNames: ["statusCode", "_a"] })
      .add(1, ["a", "b"]);
    assert.deepEqual(await lines(metrics, "sluice_my_words_5xxTotal"), [
      'sluice_my_words_5xxTotal{statusCode="a",_a="b"} 1',
    ]);
  });

  it("can be a histogram, with the same bounds in all instances", async () => {
    const metrics = node();
    const histogram = { ...options, name: "seconds", bounds: [1, 2] };
    for (const value of [0.5, 3]) metrics.pluginHistogram("my-words", histogram).observe(value, ["a"]);
    assert.deepEqual(await lines(metrics, "sluice_my_words_seconds"), [
      'sluice_my_words_seconds_bucket{le="1",kind="a"} 1',
      'sluice_my_words_seconds_bucket{le="2",kind="a"} 1',
      'sluice_my_words_seconds_bucket{le="+Inf",kind="a"} 2',
      'sluice_my_words_seconds_sum{kind="a"} 3.5',
      'sluice_my_words_seconds_count{kind="a"} 2',
    ]);
    assert.throws(() => metrics.pluginHistogram("my-words", { ...histogram, bounds: [1] }), {
      message:
        "the metric seconds of the plugin my-words is a histogram with the bounds [1, 2], not a histogram with the bounds [1]",
    });
    assert.throws(() => metrics.pluginCounter("my-words", { ...options, name: "seconds" }), {
      message: "the metric seconds of the plugin my-words is a histogram with the bounds [1, 2], not a counter",
    });
  });

  for (const [what, plugin, given, message] of [
    [
      "a name that Prometheus does not accept",
      "my-words",
      { ...options, name: "events total" },
      "the metric events total of the plugin my-words needs a name of letters, digits and _",
    ],
    [
      "a label that Prometheus does not accept",
      "my-words",
      { ...options, name: "others_total", labelNames: ["a-b"] },
      "the label a-b of the metric others_total of the plugin my-words needs a name of letters, digits and _ that does not begin with a digit",
    ],
    [
      "a label that begins with a digit",
      "my-words",
      { ...options, name: "others_total", labelNames: ["5xx"] },
      "the label 5xx of the metric others_total of the plugin my-words needs a name of letters, digits and _ that does not begin with a digit",
    ],
    [
      "labels that differ from those of its first use",
      "my-words",
      { ...options, labelNames: ["kind", "size"] },
      "the metric events_total of the plugin my-words has the labels [kind], not [kind, size]",
    ],
    [
      "the full name of a metric of another plugin",
      "my",
      { ...options, name: "words_events_total" },
      "the metric sluice_my_words_events_total of the plugin my is also one of my-words: rename it",
    ],
    [
      "the full name of a metric of Sluice",
      "http",
      { ...options, name: "requests_total" },
      "the metric sluice_http_requests_total of the plugin http is also one of Sluice: rename it",
    ],
  ] as const)
    it(`is refused with ${what}`, () => {
      const metrics = node();
      metrics.pluginCounter("my-words", options);
      assert.throws(() => metrics.pluginCounter(plugin, given), { name: "TypeError", message });
    });
});
