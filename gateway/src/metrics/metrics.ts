/** The metrics of a node, in Prometheus text format. One instance per node; nothing is global. */

import { isDeepStrictEqual } from "node:util";
import type { AcmeGauges } from "@sluice/model/serving";
import type {
  CounterMetric,
  CounterMetricOptions,
  HistogramMetric,
  HistogramMetricOptions,
  RequestMetrics,
} from "@sluice/plugin-sdk";
import type { TargetHealthSample } from "../balance/health-report.ts";
import { type AcmeMetrics, createAcmeMetrics } from "./acme-metrics.ts";
import { createEventMetrics, type EventMetrics } from "./event-metrics.ts";
import { createFleetMetrics, type FleetMetrics } from "./fleet-metrics.ts";
import { Recorder } from "./recorder.ts";
import { type MetricDescription, type MetricSample, MetricTable, ReadTable } from "./table.ts";

/**
 * Client connections to the proxy listener since the start (accepted, handled) and at present, and requests since the
 * start.
 */
export interface Connections {
  readonly accepted: number;
  readonly handled: number;
  readonly active: number;
  readonly reading: number;
  readonly writing: number;
  readonly waiting: number;
  readonly requests: number;
}

/** Bytes of the heaps of all threads except the control thread, and of the clients' memory in all workers. */
export interface Heap {
  readonly total: number;
  readonly used: number;
  readonly clients: number;
}

export interface Config {
  readonly hash: string;
  readonly revision: number;
}

export interface ServedCertificate {
  readonly certificate: string;
  readonly serverName: string;
  /** Unix seconds. */
  readonly expires: number;
}

export interface Reloads {
  /** Whether the last document was accepted; null: there was none. */
  readonly successful: boolean | null;
  /** Unix seconds of the last accepted document; null: there was none. */
  readonly succeeded: number | null;
}

/**
 * Functions that are called at every scrape. If a function is missing, its metrics have no series; without `heap`, the
 * heaps of other threads and the memory of clients count as 0 bytes.
 */
export interface MetricReadings {
  /** The document that the node runs; null: none. */
  config(): Config | null;
  connections(): Connections;
  /** 0 for the heaps of other threads if the node has none. */
  heap(): Heap;
  targets(): Iterable<TargetHealthSample>;
  certificates(): Iterable<ServedCertificate>;
  /** The certificates that this node orders. */
  orderedCertificates(): Iterable<AcmeGauges>;
  /** Unix seconds until which the OCSP response of each certificate is valid; 0: there is none. */
  stapledResponses(): Iterable<readonly [certificate: string, expires: number]>;
  /** Unix seconds at which the certificate of the push listener expires; null: it has none. */
  pushCertificate(): number | null;
  reloads(): Reloads;
  /** Whether the source of documents can be read. */
  datastore(): boolean;
  /** Names of plugins that the configuration uses and the node does not have. */
  missingPlugins(): readonly string[];
  /** The number of served entities by collection. */
  entities(): Readonly<Record<string, number>>;
}

export interface GatewayMetrics extends RequestMetrics, EventMetrics {
  /** Shows the metrics of limits with policy fleet from now on, and returns the functions that count their events. */
  startFleet: FleetMetrics["start"];
  /** Shows the metric of orders from CAs from now on, and returns the function that counts them. */
  startOrders: AcmeMetrics["start"];
  /** Records the duration of one call of a plugin's phase. */
  observePlugin(plugin: string, phase: string, seconds: number): void;
  read(readings: Partial<MetricReadings>): void;
  /**
   * A counter of a plugin. Calls with the same plugin and the same name in `options` count in the same metric.
   *
   * @throws TypeError if an earlier call for the metric had other labels or another type, or if a metric of Sluice or
   * of another plugin has the same full name: `c` of the plugin `a-b` and `b_c` of the plugin `a` are both called
   * `sluice_a_b_c`.
   */
  pluginCounter(plugin: string, options: CounterMetricOptions): CounterMetric;
  /** As `pluginCounter`; the bounds must be equal too. */
  pluginHistogram(plugin: string, options: HistogramMetricOptions): HistogramMetric;
  /** The metrics of requests and of plugins. */
  readonly counted: readonly MetricTable[];
  /** All metrics: those in `counted`, and those of the node as a whole. See slices.ts. */
  readonly tables: readonly MetricTable[];
}

export interface GatewayMetricsOptions {
  /** Kong's names instead of Sluice's (SLUICE_COMPAT=kong). */
  readonly compat: boolean;
  readonly nodeId: string;
  readonly version: string;
  /** Maximum series per counter that is not a plugin's; default 50,000. Latency histograms may have a fifth as many. */
  readonly maxSeries?: number;
}

const gatewayBuckets = [1, 2, 5, 7, 10, 15, 20, 30, 50, 75, 100, 200, 500, 750, 1000, 3000, 6000];
/** Seconds. */
const pluginBuckets = [0.000_01, 0.000_1, 0.001, 0.01, 0.1, 1];
const upstreamBuckets = [25, 50, 80, 100, 250, 400, 700, 1000, 2000, 5000, 10_000, 30_000, 60_000];

/**
 * Kong's names that differ in more than the prefix, for its dashboards (docs/reference/kong-compatibility.md#metrics).
 */
const kongNames: Readonly<Record<string, string>> = {
  sluice_gateway_latency_ms: "kong_kong_latency_ms",
  sluice_connections: "kong_nginx_connections_total",
  sluice_requests_received: "kong_nginx_requests_total",
  sluice_entities: "kong_db_entities_total",
};

const describeBounds = (bounds: readonly number[] | null): string =>
  bounds === null ? "a counter" : `a histogram with the bounds [${bounds.join(", ")}]`;

const kongName = (name: string): string => kongNames[name] ?? name.replace("sluice_", "kong_");

/**
 * Maximum number of series of the histogram of phases, and of each metric that a plugin defines, whose labels may come
 * from requests.
 */
const MAX_PLUGIN_SERIES = 1000;

/**
 * The names of plugins' metrics, after the prefix, and of labels: the scrape of a node with another name fails as a whole
 * (Prometheus, "Metric names and labels").
 */
const METRIC_NAME = /^[A-Za-z\d_:]+$/;
const LABEL_NAME = /^[A-Za-z_][A-Za-z\d_]*$/;

const HEALTH_STATES = ["healthchecks_off", "healthy", "unhealthy"] as const;

export function createMetrics({ compat, nodeId, version, maxSeries = 50_000 }: GatewayMetricsOptions): GatewayMetrics {
  let now: Partial<MetricReadings> = {};
  const nameOf = (name: string) => (compat ? kongName(name) : name);

  const counter = (name: string, help: string, labelNames: readonly string[]) =>
    new MetricTable({ type: "counter", name: nameOf(name), help, labelNames, bounds: null }, maxSeries);

  /** A histogram's series has a line per bucket, so the limit is lower: by default it suffices for 10,000 routes. */
  const latency = (name: string, bounds: readonly number[], help: string) =>
    new MetricTable(
      { type: "histogram", name: nameOf(name), help, labelNames: ["service", "route", "workspace"], bounds },
      Math.ceil(maxSeries / 5),
    );

  /** A metric with the label `node_id`; for each series, `read` returns the other labels' values and the number. */
  const gauge = (name: string, help: string, labelNames: readonly string[], read: () => Iterable<MetricSample>) =>
    new ReadTable({ name: nameOf(name), help, labelNames: ["node_id", ...labelNames] }, function* () {
      for (const [labels, value] of read()) yield [[nodeId, ...labels], value];
    });

  /** One sample for each number; its key is the value of the metric's only label besides `node_id`. */
  const samplesOf = (numbers: Readonly<Record<string, number>>): MetricSample[] =>
    Object.entries(numbers).map(([label, value]) => [[label], value]);

  const sampleOf = (value: number | boolean | null | undefined): MetricSample[] =>
    value === null || value === undefined ? [] : [[[], Number(value)]];

  const requests = {
    requests: counter(
      "sluice_http_requests_total",
      "HTTP requests by service, route, status and source of the response",
      ["service", "route", "code", "source", "workspace", "consumer"],
    ),
    bandwidth: counter(
      "sluice_bandwidth_bytes",
      "Bytes of requests (ingress) and responses (egress), and of connections that are not HTTP, by service and route",
      ["service", "route", "direction", "workspace", "consumer"],
    ),
    gatewayLatency: latency(
      "sluice_gateway_latency_ms",
      gatewayBuckets,
      "Milliseconds that the gateway added to a request, or until a connection that is not HTTP had a target",
    ),
    upstreamLatency: latency(
      "sluice_upstream_latency_ms",
      upstreamBuckets,
      "Milliseconds until the upstream's response began",
    ),
    requestLatency: latency(
      "sluice_request_latency_ms",
      upstreamBuckets,
      "Milliseconds from the request's arrival to the response's end",
    ),
    sessionDuration: latency(
      "sluice_session_duration_ms",
      upstreamBuckets,
      "Milliseconds from the arrival to the end of a connection that is not HTTP",
    ),
  };
  const ownSource = compat ? "kong" : "gateway";
  const events = createEventMetrics({ counter, bandwidth: requests.bandwidth, ownSource });
  const pluginSeconds = new MetricTable(
    {
      type: "histogram",
      name: nameOf("sluice_plugin_seconds"),
      help: "Seconds for which a phase of a plugin occupied the event loop; one call in 64 is measured",
      labelNames: ["plugin", "phase"],
      bounds: pluginBuckets,
    },
    MAX_PLUGIN_SERIES,
  );
  const fleet = createFleetMetrics(counter);
  const acme = createAcmeMetrics({ counter, gauge, certificates: () => now.orderedCertificates?.() ?? [] });
  const ofGateway = [...events.tables, ...fleet.tables, ...acme.counted, pluginSeconds];
  const counted = [...Object.values(requests), ...ofGateway];

  const ofPlugins = new Map<string, { readonly plugin: string; readonly table: MetricTable }>();

  const ofNode = [
    new ReadTable(
      {
        name: nameOf("sluice_upstream_target_health"),
        help: "Health of upstreams' targets: 1 for the current state of a target, 0 for its other states",
        labelNames: ["upstream", "target", "address", "state", "subsystem"],
      },
      function* () {
        for (const { upstream, target, address, health } of now.targets?.() ?? []) {
          const is = health.toLowerCase();
          for (const state of HEALTH_STATES) yield [[upstream, target, address, state, "http"], state === is ? 1 : 0];
        }
      },
    ),
    gauge(
      "sluice_certificate_expiry_timestamp_seconds",
      "Unix time at which the certificate of a server name, or of a Gateway's listener, expires",
      ["certificate", "server_name"],
      function* () {
        for (const { certificate, serverName, expires } of now.certificates?.() ?? [])
          yield [[certificate, serverName], expires];
      },
    ),
    gauge(
      "sluice_ocsp_response_expiry_timestamp_seconds",
      "Unix time at which the stapled OCSP response of a certificate expires; 0 if there is none",
      ["certificate"],
      () => [...(now.stapledResponses?.() ?? [])].map(([certificate, expires]) => [[certificate], expires]),
    ),
    gauge(
      "sluice_push_certificate_expiry_timestamp_seconds",
      "Unix time at which the node's certificate for the push listener expires",
      [],
      () => sampleOf(now.pushCertificate?.()),
    ),
    gauge("sluice_node_info", "The node and its version", ["version"], () => [[[version], 1]]),
    gauge("sluice_memory_bytes", "Bytes of memory of the node's process by kind", ["kind"], () => {
      const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
      const { total, used, clients } = now.heap?.() ?? { total: 0, used: 0, clients: 0 };
      return samplesOf({ rss, heap_total: heapTotal + total, heap_used: heapUsed + used, external, clients });
    }),
    gauge("sluice_config_info", "The document that the node runs, with its revision as the value", ["hash"], () => {
      const config = now.config?.() ?? null;
      return config === null ? [] : [[[config.hash], config.revision]];
    }),
    gauge("sluice_connections", "Client connections by state", ["subsystem", "state"], () => {
      const { requests: _, ...states } = now.connections?.() ?? {};
      return Object.entries(states).map(([state, count]) => [["http", state], count]);
    }),
    gauge(
      "sluice_requests_received",
      "Client requests since the start, including those without a route",
      ["subsystem"],
      () => (now.connections === undefined ? [] : [[["http"], now.connections().requests]]),
    ),
    gauge(
      "sluice_config_last_reload_successful",
      "1 if the node accepted the last configuration that it received, otherwise 0",
      [],
      () => sampleOf(now.reloads?.().successful),
    ),
    gauge(
      "sluice_config_last_reload_success_timestamp_seconds",
      "Unix time at which the node last accepted a configuration",
      [],
      () => sampleOf(now.reloads?.().succeeded),
    ),
    gauge(
      "sluice_datastore_reachable",
      "1 if the node can read its configuration from its database, file or operator, otherwise 0",
      [],
      () => sampleOf(now.datastore?.()),
    ),
    gauge(
      "sluice_plugins_missing",
      "1 for each plugin that the configuration uses and the node lacks; requests in its scope are answered with 503",
      ["plugin"],
      () => (now.missingPlugins?.() ?? []).map((name) => [[name], 1]),
    ),
    gauge("sluice_entities", "Entities that the node serves", ["kind"], () => samplesOf(now.entities?.() ?? {})),
    ...acme.read,
  ];

  function pluginTable(plugin: string, { name, labelNames, ...shape }: Omit<MetricDescription, "type">): MetricTable {
    const rule = "needs a name of letters, digits and _";
    if (!METRIC_NAME.test(name)) throw new TypeError(`the metric ${name} of the plugin ${plugin} ${rule}`);
    const invalid = labelNames.find((label) => !LABEL_NAME.test(label));
    if (invalid !== undefined)
      throw new TypeError(
        `the label ${invalid} of the metric ${name} of the plugin ${plugin} ${rule} that does not begin with a digit`,
      );
    const fullName = nameOf(`sluice_${plugin.replaceAll("-", "_")}_${name}`);
    const known = ofPlugins.get(fullName);
    const owner = [...counted, ...ofNode].some(({ shape }) => shape.name === fullName) ? "Sluice" : known?.plugin;
    if (owner !== undefined && owner !== plugin)
      throw new TypeError(`the metric ${fullName} of the plugin ${plugin} is also one of ${owner}: rename it`);
    const type = shape.bounds === null ? "counter" : "histogram";
    const table = known?.table ?? new MetricTable({ ...shape, type, name: fullName, labelNames }, MAX_PLUGIN_SERIES);
    const given = table.shape;
    if (!isDeepStrictEqual(given.labelNames, labelNames)) {
      const [before, now] = [given.labelNames, labelNames].map((labels) => `[${labels.join(", ")}]`);
      throw new TypeError(`the metric ${name} of the plugin ${plugin} has the labels ${before}, not ${now}`);
    }
    if (!isDeepStrictEqual(given.bounds, shape.bounds)) {
      const [before, now] = [given.bounds, shape.bounds].map(describeBounds);
      throw new TypeError(`the metric ${name} of the plugin ${plugin} is ${before}, not ${now}`);
    }
    ofPlugins.set(fullName, { plugin, table });
    return table;
  }

  const pluginTables = () => Array.from(ofPlugins.values(), ({ table }) => table);

  return {
    ...events.counts,
    recorder: (labels) => new Recorder(labels, requests, ownSource),
    startFleet: fleet.start,
    startOrders: acme.start,
    observePlugin(plugin, phase, seconds) {
      pluginSeconds.observe(pluginSeconds.of([plugin, phase]), seconds);
    },
    read(readings) {
      now = { ...now, ...readings };
    },
    pluginCounter(plugin, options) {
      const table = pluginTable(plugin, { ...options, bounds: null });
      return { add: (amount, labels) => table.increase(table.of(labels), amount) };
    },
    pluginHistogram(plugin, options) {
      const table = pluginTable(plugin, options);
      return { observe: (value, labels) => table.observe(table.of(labels), value) };
    },
    get counted() {
      return [...counted, ...pluginTables()];
    },
    get tables() {
      return [...counted, ...pluginTables(), ...ofNode];
    },
  };
}
