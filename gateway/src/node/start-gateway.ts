/** Assembles a node: source -> intake -> workers (compile, proxy), health checks, and the status listener. */
import { randomUUID } from "node:crypto";
import { availableParallelism } from "node:os";
import {
  collections,
  emptySnapshot,
  FLEET_COUNTERS_PATH,
  isTextLog,
  LOG_LEVEL_PATH,
  type LoadedPlugin,
  type LogLevelReport,
  MAX_LOG_LEVEL_SECONDS,
  NODE_ENDPOINT_ID,
  type NodeReport,
  readLogLevelChange,
  SettingsError,
  type Snapshot,
  TemporaryLogLevel,
} from "@sluice/model/serving";
import type { EndpointRequest, EndpointResponse, WindowCounters } from "@sluice/plugin-sdk";
import type { Logger } from "pino";
import { acmeOptionsOf } from "../acme/certificate-orders.ts";
import { NodeOrders, type OpenOrders } from "../acme/node-orders.ts";
import { ActiveHealthChecks } from "../balance/active-checks.ts";
import type { HealthTransition } from "../balance/balancer.ts";
import { healthReportOf, targetHealthSamples } from "../balance/health-report.ts";
import { TargetEjections } from "../balance/target-ejections.ts";
import { TargetNames } from "../balance/target-names.ts";
import type { DatabaseQuery } from "../counters/database-counters.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { createRuntimeMetrics } from "../metrics/runtime-metrics.ts";
import { connectBehind } from "../outbound/connect.ts";
import { createGuard } from "../outbound/guard.ts";
import { createNameService } from "../outbound/name-service.ts";
import { mergeRefused } from "../outbound/refused-destinations.ts";
import { httpClientsBehind } from "../proxy/http1/plugin-client/http-client.ts";
import type { ListenAddress, StreamListenAddress } from "../proxy/settings.ts";
import { createProbe } from "../proxy/upstream/probe.ts";
import { type GatewaySettings, gatewaySettings as names } from "../settings/commands/gateway.ts";
import { accessLogFile } from "../settings/observers.ts";
import { sluiceVersion } from "../settings/version.ts";
import { createIntake } from "../sources/intake.ts";
import type { NodeStatusSource, Source } from "../sources/source.ts";
import { startStatusListener } from "../status/listener.ts";
import { checkedEndpointResponse, mergeEndpointResponses } from "../workers/endpoints/merge-endpoint-responses.ts";
import { mergeNodeResponses } from "../workers/endpoints/node-endpoints.ts";
import { mergeMetrics } from "../workers/merge-metrics.ts";
import type { StartWorkersOptions, Workers, WorkersReport } from "../workers/workers.ts";
import { CertificateExpiries, certificateExpiry } from "./certificate-expiries.ts";
import { logUnavailable } from "./log-unavailable.ts";
import { MissingPlugins } from "./missing-plugins.ts";
import { OcspResponses } from "./ocsp/ocsp-responses.ts";
import type { OpenedPeer, OpenPeerOptions } from "./open-peer.ts";
import { openSource } from "./open-source.ts";
import { createPluginReload } from "./plugin-reload.ts";
import { workerPlan } from "./worker-plan.ts";

export interface GatewayOptions {
  readonly settings: GatewaySettings;
  readonly log: Logger;
  /** The level of `log`, if other parts of the process change it too. Default: only this node changes it. */
  readonly logLevel?: TemporaryLogLevel;
  /** Registered plugins that do not come with Sluice. Default: none. */
  readonly plugins?: readonly LoadedPlugin[];
  /** The source of documents. Default: chosen by the settings. */
  readonly source?: (node: NodeStatusSource) => Source;
  /**
   * Runs one statement in the database of `source`, for rate-limiting with policy `cluster`. Ignored without `source`:
   * if the settings choose a database source, statements run in the database of that source.
   */
  readonly query?: DatabaseQuery;
  /** Orders certificates with `source`, as `query`. */
  readonly orders?: OpenOrders;
  /** Other listeners of this process; upstream addresses must not point to them. */
  readonly ownListeners?: readonly ListenAddress[];
}

export interface Gateway {
  readonly proxy: ListenAddress;
  /** Null without a TLS listener. */
  readonly proxyTls: ListenAddress | null;
  readonly streams: readonly StreamListenAddress[];
  readonly status: ListenAddress;
  readonly state: () => NodeReport;
  /**
   * Sets the health of an upstream's target manually, on this node only, until a health check changes it.
   *
   * @param address `host:port` of the target; null: all its addresses.
   * @returns False if the node has no such target, or the upstream has no health checks.
   */
  setTargetHealth(upstreamId: string, targetId: string, address: string | null, healthy: boolean): boolean;
  /** Reopens the access log after its file was moved; null when the log is not a file. */
  readonly reopenLogs: (() => void) | null;
  /**
   * Loads the plugins of `SLUICE_PLUGINS` again, in new worker threads, while the old ones drain: no request fails.
   * Null without such plugins.
   *
   * @throws SettingsError with all faults, or if the system cannot share an address among threads. The earlier code
   * then stays active.
   */
  readonly reloadPlugins: (() => Promise<void>) | null;
  /** Fails readiness, accepts no more connections, finishes open requests within the drain time, and stops. */
  close(): Promise<void>;
}

export async function startGateway({ settings, log, ...given }: GatewayOptions): Promise<Gateway> {
  const node = randomUUID();
  const { logLevel = new TemporaryLogLevel(log) } = given;
  const facts: NodeStatusSource = {
    state: () => intake.state(),
    status: () => status.address,
    async askPlugin({ plugin, request }) {
      if (asksNodeFor(LOG_LEVEL_PATH, plugin, request)) return logLevelResponse(request, logLevel);
      if (asksNodeFor(FLEET_COUNTERS_PATH, plugin, request)) return opened?.answerOperator(request.body) ?? null;
      const responses = await workers.askPlugin(plugin, request);
      const merged =
        plugin === NODE_ENDPOINT_ID ? mergeNodeResponses(request, responses) : mergeEndpointResponses(responses);
      return checkedEndpointResponse(merged);
    },
  };
  const metricsOptions = { compat: settings.compat === "kong", nodeId: node, version: sluiceVersion };
  const metrics = createMetrics(metricsOptions);
  const opened = await openPeer(settings, { self: node, log, metrics });
  const sourceFacts = opened === null ? facts : { ...facts, peer: opened.peer };
  const acmeOptions = await acmeOptionsOf(settings);
  const { source, query, ...found } = given.source
    ? { source: given.source(sourceFacts), query: given.query, orders: given.orders }
    : await openSource(settings, log, sourceFacts);
  await opened?.join({ query, hasOperator: given.source === undefined && settings.source === "push" });
  const ordering = { options: acmeOptions, log, node, startCounting: metrics.startOrders };
  const orders = found.orders && new NodeOrders(found.orders, ordering);
  const clusterCounters = query && (await createClusterCounters(query, log));
  const peers = opened === null ? [] : [opened.peer.address];
  const own = [settings.status, settings.push, ...peers, ...(given.ownListeners ?? [])];
  const count =
    settings.workers === "auto" ? Math.min(availableParallelism(), names.workers.maximum) : settings.workers;
  const ejections: TargetEjections = new TargetEjections({ balancers: () => workers.balancers() });
  const workersOptions: StartWorkersOptions = {
    plan: await workerPlan(settings, own, { node, workers: count, plugins: given.plugins ?? [] }),
    log,
    isTextLog: isTextLog(settings.logFormat, 1),
    metrics,
    metricsOptions,
    workerTimeout: settings.workerTimeout,
    controlCounters: {
      ...(clusterCounters && { cluster: clusterCounters }),
      ...(opened && { fleet: opened.counters }),
    },
    onHealthTransition: ({ healthy, signal: sign, ...target }: HealthTransition) =>
      log.warn({ ...target, sign }, healthy ? "a target is healthy again" : "a target is unhealthy"),
    onHealthUpdate: (update) => ejections.record(update),
  };
  const workers: Workers = await startWorkers(count, workersOptions);
  logLevel.onLevelChange((level) => workers.setLogLevel(level));
  const guard = createGuard({
    allowedUpstreams: settings.allowedUpstreams,
    dnsResolver: settings.dnsResolver,
    ownListeners: [...own, workers.address, workers.tlsAddress, ...workers.streamAddresses].filter(
      (address) => address !== null,
    ),
  });
  const watch = new ActiveHealthChecks({
    probe: createProbe({ connect: connectBehind(guard), version: sluiceVersion }),
    onRefused: (check) => log.warn(check, "a target cannot be checked: the node refuses to connect to its address"),
  });
  function followBalancers() {
    watch.checkBalancers(workers.balancers());
    ejections.follow();
  }
  const targetNames = new TargetNames({
    names: createNameService(settings.dnsResolver),
    reasonToRefuse: guard.reasonToRefuse,
    onChange(resolved) {
      workers.adoptAddresses(resolved);
      followBalancers();
    },
  });
  const expiries = new CertificateExpiries();
  const ocsp = new OcspResponses({
    mode: settings.ocspStapling,
    client: httpClientsBehind(connectBehind(guard))(),
    log,
    onChange: (responses) => workers.adoptStapledResponses(responses),
  });
  const missing = new MissingPlugins();
  let served: Snapshot = emptySnapshot;
  /** Unix seconds of the last accepted document. */
  let succeeded: number | null = null;
  const intake = createIntake({
    node,
    version: sluiceVersion,
    statusPort: () => status.address.port,
    missingPlugins: () => missing.names,
    failedListeners: () => workers.failedListeners(),
    ...(opened && { peer: () => opened.peer.state }),
    async serve(snapshot: Snapshot) {
      await Promise.all([targetNames.follow(snapshot.targets), ocsp.follow(snapshot)]);
      await workers.serve(snapshot);
      logUnavailable({ log, hasPeers: opened !== null }, served, snapshot);
      // There may be a thousand listeners, which few changes concern.
      if (snapshot.listeners !== served.listeners)
        guard.setDocumentListeners(
          [...snapshot.listeners.values()].map(({ port }) => ({ host: workers.address.host, port })),
        );
      served = snapshot;
      followBalancers();
      expiries.reportSnapshot(snapshot);
      orders?.follow(snapshot);
      missing.countMissing(snapshot);
    },
    onUpdate({ hash, revision }) {
      succeeded = Date.now() / 1000;
      log.debug({ hash, revision }, "serving a document");
    },
  });
  let draining = false;
  let reported: WorkersReport = await workers.report();
  const report = async () => {
    reported = await workers.report();
    return reported;
  };
  const refused = async () => mergeRefused([guard.refusedDestinations(), (await report()).refused]);
  metrics.read({
    config() {
      const { hash, revision } = intake.state();
      return hash === null ? null : { hash, revision };
    },
    connections: () => reported.connections,
    heap: () => reported.heap,
    targets: () => (showsTargets(served) ? targetHealthSamples(workers.balancers()) : []),
    certificates: () => expiries.served(),
    stapledResponses: () => ocsp.expiries(),
    orderedCertificates: () => orders?.gauges() ?? [],
    pushCertificate() {
      const certificate = source.ownCertificate?.() ?? null;
      return certificate === null ? null : certificateExpiry(certificate);
    },
    reloads() {
      const hasFailure = source.failure() !== null;
      return { successful: hasFailure || succeeded !== null ? !hasFailure : null, succeeded };
    },
    datastore: () => source.failure() === null,
    missingPlugins: () => missing.names,
    entities: () => entityCounts(served),
  });
  const status = await startStatusListener(
    {
      state: intake.state,
      failure: source.failure,
      draining: () => draining,
      unserved: () => workers.unavailableReason(),
      unjoined: () => opened?.peer.unreadyReason ?? null,
      connections: async () => (await report()).connections,
      heap: () => reported.heap,
      workers: () => reported.workers,
      metrics: mergeMetrics(metrics, {
        async workers() {
          await report();
          return workers.metricParts();
        },
        runtime: createRuntimeMetrics({ nodeId: node, worker: 0 }),
      }),
      refused,
      unstapled: () => ocsp.unstapled(),
      fleet: () => opened?.peer.report ?? null,
      upstreams: async () => {
        const byName = new Map((await refused()).map(({ host, port, reason }) => [`${port} ${host}`, reason]));
        return healthReportOf(
          workers.balancers(),
          (host, port) => guard.reasonToRefuse(host, port) ?? byName.get(`${port} ${host}`) ?? null,
        );
      },
    },
    settings.status,
  );
  await source.start(intake);

  const reloadPlugins = createPluginReload(settings, {
    plugins: given.plugins ?? [],
    workers,
    intake,
    onReload(snapshot) {
      logUnavailable({ log, hasPeers: opened !== null }, served, snapshot);
      served = snapshot;
      missing.recount(snapshot);
    },
    reread: async () => source.reread?.(),
  });
  return {
    proxy: workers.address,
    proxyTls: workers.tlsAddress,
    streams: workers.streamAddresses,
    status: status.address,
    state: intake.state,
    setTargetHealth: (upstreamId, targetId, address, healthy) =>
      workers.balancers().get(upstreamId)?.setHealth(targetId, address, healthy) ?? false,
    reopenLogs: accessLogFile(settings) ? () => workers.reopenLogs() : null,
    reloadPlugins: settings.plugins.length > 0 ? reloadPlugins : null,
    async close() {
      draining = true;
      watch.close();
      targetNames.close();
      ocsp.close();
      ejections.close();
      opened?.peer.leave();
      await orders?.close();
      await workers.close({ deadline: settings.drain });
      await opened?.peer.retire();
      await opened?.stopSaving();
      await source.stop();
      await opened?.close();
      await status.close();
    },
  };
}

/**
 * A single worker runs in the control thread, unless it has plugins of `SLUICE_PLUGINS`: a reload of their code
 * replaces the worker's thread. On systems where threads cannot share an address, a single worker with such plugins
 * runs in the control thread, too.
 */
async function startWorkers(count: number, options: StartWorkersOptions): Promise<Workers> {
  const startSingle = async () => (await import("../workers/single-worker.ts")).startSingleWorker(options);
  if (count === 1 && options.plan.plugins.length === 0) return startSingle();
  const { CannotShareAddress, startWorkerPool } = await import("../workers/threads/worker-pool.ts");
  try {
    return await startWorkerPool(count, options);
  } catch (error) {
    if (count === 1 && error instanceof CannotShareAddress) return startSingle();
    throw error;
  }
}

const entityCounts = (snapshot: Snapshot): Record<string, number> =>
  Object.fromEntries(collections.map((collection) => [collection, snapshot[collection].size]));

/** Whether a prometheus plugin is configured to report the health of targets. */
const showsTargets = ({ plugins }: Snapshot): boolean =>
  plugins
    .values()
    .some(({ name, enabled, config }) => enabled && name === "prometheus" && config.upstream_health_metrics === true);

/** Null without SLUICE_PEER_LISTEN. Loads the modules only if they are needed. */
async function openPeer(settings: GatewaySettings, options: OpenPeerOptions): Promise<OpenedPeer | null> {
  const { peerListen: listen } = settings;
  if (listen !== null) return (await import("./open-peer.ts")).openPeer({ ...settings, peerListen: listen }, options);
  if (settings.peers.length > 0)
    throw new SettingsError(`${names.peers.variable} needs ${names.peerListen.variable}: the listener for these nodes`);
  return null;
}

/** The counters of rate-limiting with policy `cluster`. Loaded only by a node with a database. */
async function createClusterCounters(query: DatabaseQuery, log: Logger): Promise<WindowCounters> {
  const { DatabaseCounters } = await import("../counters/database-counters.ts");
  return new DatabaseCounters({ query, warn: (message, facts) => log.warn(facts, message) });
}

const asksNodeFor = (what: string, plugin: string, { path }: EndpointRequest): boolean =>
  plugin === NODE_ENDPOINT_ID && path.join("/") === what;

/**
 * Changes the level if the request has a body, and returns the level. The control thread answers, and not a worker,
 * because the level applies to all threads of the node.
 */
function logLevelResponse({ body }: EndpointRequest, logLevel: TemporaryLogLevel): EndpointResponse {
  if (body !== undefined) {
    const change = readLogLevelChange(body);
    if (change === null) {
      const message = `the body must have a level, and seconds from 0 to ${MAX_LOG_LEVEL_SECONDS}`;
      return { status: 400, body: { message } };
    }
    logLevel.change(change);
  }
  return { status: 200, body: { level: logLevel.level } satisfies LogLevelReport };
}
