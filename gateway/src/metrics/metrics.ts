/** The metrics of a node, in Prometheus text format. One instance per node; nothing is global. */
import { Gauge, type MetricObject, Registry } from "prom-client";
import type { TargetHealthSample } from "../balance/health-report.ts";
import type { CountCell } from "./cells.ts";
import { naming } from "./names.ts";
import { Recorder, type RequestLabels } from "./recorder.ts";
import { HistogramTable, ReadTable, type Table, ValueTable } from "./table.ts";

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

/** Bytes of the heaps of other threads, and of the memory that clients occupy in all workers. */
export interface Heap {
  readonly total: number;
  readonly used: number;
  readonly clients: number;
}

export interface Config {
  readonly hash: string;
  readonly revision: number;
}

/** A certificate that is served for a server name. */
export interface ServedCertificate {
  readonly certificate: string;
  readonly serverName: string;
  /** Unix seconds. */
  readonly expires: number;
}

/** The results of applying documents. */
export interface Reloads {
  /** Whether the last document was accepted; null: there was none. */
  readonly successful: boolean | null;
  /** Unix seconds of the last accepted document; null: there was none. */
  readonly succeeded: number | null;
}

export interface GatewayMetrics {
  /** Counts a request that was answered before a route matched; the reason is from a fixed set. */
  countUnrouted(reason: string): void;
  /** Sets the function that is called at every scrape for the expiry of the served certificates. */
  readCertificates(read: () => Iterable<ServedCertificate>): void;
  /** Sets the function that is called at every scrape for the results of applying documents. */
  readReloads(read: () => Reloads): void;
  /** The recorder for requests of a matched route. Keep it: creating one costs more than counting. */
  recorder(labels: RequestLabels): Recorder;
  /** Sets the function that is called at every scrape for the listener's connections. */
  readConnections(read: () => Connections): void;
  /**
   * Sets the function that is called at every scrape for the memory of other threads and clients. Unset: none is added.
   */
  readHeap(read: () => Heap): void;
  /** Sets the function that is called at every scrape for the health of targets. Unset: none is shown. */
  readTargets(read: () => Iterable<TargetHealthSample>): void;
  /** Sets the function that is called at every scrape for whether the source of documents can be read. */
  readDatastore(read: () => boolean): void;
  /** Sets the function that is called at every scrape for the number of served entities by collection. */
  readEntities(read: () => Readonly<Record<string, number>>): void;
  /** Sets the document that the node runs. */
  setConfig(config: Config): void;
  /** Metrics with many series: the request metrics, and the health of targets. See slices.ts. */
  readonly tables: readonly Table[];
  /** All other metrics, in Prometheus text format. */
  gauges(): Promise<string>;
  /** All other metrics, as data. */
  gaugeValues(): Promise<readonly MetricObject[]>;
  /** The content type of the text format. */
  readonly contentType: string;
}

export interface GatewayMetricsOptions {
  /** Kong's names instead of Sluice's (SLUICE_COMPAT=kong). */
  readonly compat: boolean;
  readonly nodeId: string;
  readonly version: string;
  /** Maximum series per metric; default 50,000. */
  readonly maxSeries?: number;
}

const gatewayBuckets = [1, 2, 5, 7, 10, 15, 20, 30, 50, 75, 100, 200, 500, 750, 1000, 3000, 6000];
const upstreamBuckets = [25, 50, 80, 100, 250, 400, 700, 1000, 2000, 5000, 10_000, 30_000, 60_000];

const HEALTH_STATES = ["healthchecks_off", "healthy", "unhealthy"] as const;

export function createMetrics({ compat, nodeId, version, maxSeries = 50_000 }: GatewayMetricsOptions): GatewayMetrics {
  const registry = new Registry();
  const registers = [registry];
  const { name, source } = naming(compat);

  const requests = new ValueTable(
    {
      type: "counter",
      name: name("requests"),
      help: "HTTP requests by service, route, status and who made the response",
      labelNames: ["service", "route", "code", "source", "workspace", "consumer"],
      bounds: null,
    },
    maxSeries,
  );
  const bandwidth = new ValueTable(
    {
      type: "counter",
      name: name("bandwidth"),
      help: "Bytes of requests (ingress) and responses (egress) by service and route",
      labelNames: ["service", "route", "direction", "workspace", "consumer"],
      bounds: null,
    },
    maxSeries,
  );
  const unrouted = new ValueTable(
    {
      type: "counter",
      name: name("unrouted"),
      help: "Requests that were answered before they had a route, by reason",
      labelNames: ["reason"],
      bounds: null,
    },
    maxSeries,
  );
  /** By reason, so that counting allocates nothing. */
  const unroutedCells = new Map<string, CountCell>();

  const histogram = (metric: "gatewayLatency" | "upstreamLatency" | "requestLatency", help: string) => {
    const bounds = metric === "gatewayLatency" ? gatewayBuckets : upstreamBuckets;
    const shape = {
      type: "histogram" as const,
      name: name(metric),
      help,
      labelNames: ["service", "route", "workspace"],
      bounds,
    };
    // A histogram's series has a line per bucket, so its limit is lower, but sufficient for 10,000 routes.
    return new HistogramTable(shape, bounds, Math.ceil(maxSeries / 5));
  };
  const latencies = {
    gateway: histogram("gatewayLatency", "Milliseconds that the gateway added to a request"),
    upstream: histogram("upstreamLatency", "Milliseconds until the upstream's response began"),
    request: histogram("requestLatency", "Milliseconds from the request's arrival to the response's end"),
  };
  const counted = {
    requests: requests.series,
    bandwidth: bandwidth.series,
    latencies: {
      gateway: latencies.gateway.series,
      upstream: latencies.upstream.series,
      request: latencies.request.series,
    },
    source,
  };

  new Gauge({
    name: name("node"),
    help: "The node and its version",
    labelNames: ["node_id", "version"],
    registers,
  }).set({ node_id: nodeId, version }, 1);

  let heap: () => Heap = () => ({ total: 0, used: 0, clients: 0 });
  new Gauge({
    name: name("memory"),
    help: "Bytes of memory of the node's process by kind",
    labelNames: ["node_id", "kind"],
    registers,
    collect() {
      const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
      const { total, used, clients } = heap();
      const kinds = { rss, heap_total: heapTotal + total, heap_used: heapUsed + used, external, clients };
      for (const [kind, bytes] of Object.entries(kinds)) this.set({ node_id: nodeId, kind }, bytes);
    },
  });

  let config: Config | undefined;
  new Gauge({
    name: name("config"),
    help: "The document that the node runs; its revision is the value",
    labelNames: ["node_id", "hash"],
    registers,
    collect() {
      this.reset();
      if (config !== undefined) this.set({ node_id: nodeId, hash: config.hash }, config.revision);
    },
  });

  let connections: (() => Connections) | undefined;
  new Gauge({
    name: name("connections"),
    help: "Connections of clients by state",
    labelNames: ["node_id", "subsystem", "state"],
    registers,
    collect() {
      if (connections === undefined) return;
      const { requests: _, ...states } = connections();
      for (const [state, count] of Object.entries(states)) {
        this.set({ node_id: nodeId, subsystem: "http", state }, count);
      }
    },
  });
  new Gauge({
    name: name("received"),
    help: "Requests of clients since start, matched by a route or not",
    labelNames: ["node_id", "subsystem"],
    registers,
    collect() {
      if (connections !== undefined) this.set({ node_id: nodeId, subsystem: "http" }, connections().requests);
    },
  });

  let targets: () => Iterable<TargetHealthSample> = () => [];
  const health = new ReadTable(
    {
      type: "gauge",
      name: name("targets"),
      help: "Health of upstreams' targets: 1 for the state that each is in, 0 for the others",
      labelNames: ["upstream", "target", "address", "state", "subsystem"],
      bounds: null,
    },
    function* () {
      for (const { upstream, target, address, health: now } of targets()) {
        const is = now.toLowerCase();
        for (const state of HEALTH_STATES) yield [[upstream, target, address, state, "http"], state === is ? 1 : 0];
      }
    },
  );

  let certificates: () => Iterable<ServedCertificate> = () => [];
  const expiries = new ReadTable(
    {
      type: "gauge",
      name: name("certificates"),
      help: "Unix time at which a certificate expires that is served for a server name",
      labelNames: ["node_id", "certificate", "server_name"],
      bounds: null,
    },
    function* () {
      for (const { certificate, serverName, expires } of certificates())
        yield [[nodeId, certificate, serverName], expires];
    },
  );

  let reloads: (() => Reloads) | undefined;
  new Gauge({
    name: name("reload"),
    help: "Whether the last configuration that reached the node was taken: 1, else 0",
    labelNames: ["node_id"],
    registers,
    collect() {
      const { successful = null } = reloads?.() ?? {};
      if (successful !== null) this.set({ node_id: nodeId }, successful ? 1 : 0);
    },
  });
  new Gauge({
    name: name("reloaded"),
    help: "Unix time at which the node last took a configuration",
    labelNames: ["node_id"],
    registers,
    collect() {
      const { succeeded = null } = reloads?.() ?? {};
      if (succeeded !== null) this.set({ node_id: nodeId }, succeeded);
    },
  });

  let reachable: (() => boolean) | undefined;
  new Gauge({
    name: name("datastore"),
    help: "Whether the node's database, file or operator gives what it should: 1, else 0",
    labelNames: ["node_id"],
    registers,
    collect() {
      if (reachable !== undefined) this.set({ node_id: nodeId }, reachable() ? 1 : 0);
    },
  });

  let entities: (() => Readonly<Record<string, number>>) | undefined;
  new Gauge({
    name: name("entities"),
    help: "Entities that the node serves",
    labelNames: ["node_id", "kind"],
    registers,
    collect() {
      for (const [kind, count] of Object.entries(entities?.() ?? {})) this.set({ node_id: nodeId, kind }, count);
    },
  });

  return {
    recorder: (labels) => new Recorder(labels, counted),
    countUnrouted(reason) {
      let cell = unroutedCells.get(reason);
      if (cell === undefined) {
        cell = unrouted.series.of([reason.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]);
        unroutedCells.set(reason, cell);
      }
      cell.value++;
    },
    readCertificates(read) {
      certificates = read;
    },
    readReloads(read) {
      reloads = read;
    },
    readConnections(read) {
      connections = read;
    },
    readHeap(read) {
      heap = read;
    },
    readTargets(read) {
      targets = read;
    },
    readDatastore(read) {
      reachable = read;
    },
    readEntities(read) {
      entities = read;
    },
    setConfig(now) {
      config = now;
    },
    tables: [requests, bandwidth, latencies.gateway, latencies.upstream, latencies.request, unrouted, health, expiries],
    gauges: () => registry.metrics(),
    gaugeValues: () => registry.getMetricsAsJSON(),
    contentType: registry.contentType,
  };
}
