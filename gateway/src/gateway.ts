/** Assembles a node: source -> intake -> compile -> runtime -> proxy, and the status listener. */
import { randomUUID } from "node:crypto";
import {
  emptySnapshot,
  type NodeState,
  PemError,
  readAuthorities,
  readPemFiles,
  type Snapshot,
} from "@sluice/model/serving";
import type { Logger } from "pino";
import { ActiveHealthChecks } from "./balance/active-checks.ts";
import type { HealthTransition } from "./balance/balancer.ts";
import { healthReportOf, targetHealthSamples } from "./balance/health-report.ts";
import { CertificateExpiries } from "./compile/certificate-expiries.ts";
import type { Counters } from "./counters/counters.ts";
import { createMetrics } from "./metrics/metrics.ts";
import { createRuntimeMetrics } from "./metrics/runtime-metrics.ts";
import { connectBehind } from "./outbound/connect.ts";
import { createGuard } from "./outbound/guard.ts";
import { mergeRefused } from "./outbound/refused-destinations.ts";
import { defaultProxySettings, type ListenAddress } from "./proxy/settings.ts";
import { createProbe } from "./proxy/upstream/probe.ts";
import { createIntake } from "./runtime/intake.ts";
import { logUnavailable } from "./runtime/log-unavailable.ts";
import { SettingsError } from "./settings/error.ts";
import { type GatewaySettings, gatewaySettings as names } from "./settings/gateway.ts";
import { accessLogFile, tracesUrl } from "./settings/observers.ts";
import type { NodeStatusSource, Source } from "./sources/source.ts";
import { startStatusListener } from "./status/listener.ts";
import { version } from "./version.ts";
import { mergeMetrics } from "./workers/merge-metrics.ts";
import type { ObserversPlan } from "./workers/observers.ts";
import { startWorkers, workerCount } from "./workers/start-workers.ts";
import type { WorkerPlan } from "./workers/worker.ts";
import type { WorkersReport } from "./workers/workers.ts";

export interface GatewayOptions {
  readonly settings: GatewaySettings;
  readonly log: Logger;
  /** The source of documents. Default: chosen by the settings. */
  readonly source?: (node: NodeStatusSource) => Source;
  /** Counters for rate-limiting with policy `cluster`. Default: those of the database source. */
  readonly clusterCounters?: Counters;
  /** Other listeners of this process; upstream addresses must not point to them. */
  readonly ownListeners?: readonly ListenAddress[];
}

export interface Gateway {
  readonly proxy: ListenAddress;
  /** Null without a TLS listener. */
  readonly proxyTls: ListenAddress | null;
  readonly status: ListenAddress;
  readonly state: () => NodeState;
  /**
   * Sets the health of an upstream's target manually, on this node only, until a health check changes it.
   *
   * @param address `host:port` of the target; null: all its addresses @returns false if the node has no such target, or
   * the upstream has no health checks
   */
  setTargetHealth(upstreamId: string, targetId: string, address: string | null, healthy: boolean): boolean;
  /** Reopens the access log after its file was moved; null when the log is not a file. */
  readonly reopenLogs: (() => void) | null;
  /** Fails readiness, accepts no more connections, finishes open requests within the drain time, and stops. */
  close(): Promise<void>;
}

/** A source and the parts that belong to it. */
interface Origin {
  readonly source: Source;
  readonly clusterCounters?: Counters;
}

/** Loads only the modules of the configured source. */
async function originOf(settings: GatewaySettings, log: Logger, node: NodeStatusSource): Promise<Origin> {
  if (settings.source === "file") {
    if (!settings.file) throw new SettingsError(`${names.file.variable} must be set: the declarative file to serve`);
    const { createFileSource } = await import("./sources/file/file-source.ts");
    return { source: createFileSource({ file: settings.file, log, unprotectWait: settings.unprotectWait }) };
  }
  if (settings.source === "database") {
    const { openDatabaseSource } = await import("./stores/database/open-store.ts");
    return openDatabaseSource(settings, { log, node });
  }
  return { source: await pushSourceOf(settings, log) };
}

async function pushSourceOf(settings: GatewaySettings, log: Logger): Promise<Source> {
  const { createPushSource } = await import("./sources/push/push-source.ts");
  const { push: listen, pushToken, pushCert, pushKey, pushAuthority, pushClient } = settings;
  const { keptDocument: file, keptDocumentWait: patience } = settings;
  const journal =
    file === null
      ? {}
      : { journal: (await import("./sources/push/snapshot-journal.ts")).createSnapshotJournal({ file, log }) };
  const all = `${names.pushCert.variable}, ${names.pushKey.variable} and ${names.pushAuthority.variable}`;
  if (pushCert && pushKey && pushAuthority) {
    const files = { cert: pushCert, key: pushKey, ca: pushAuthority };
    const tls = { ...(await readPemFiles(files).catch(unfit)), files, client: pushClient };
    return createPushSource({ listen, tls, ...journal, operatorTimeout: patience, log });
  }
  if (pushCert || pushKey || pushAuthority) throw new SettingsError(`${all} belong together: set all three`);
  if (!pushToken) throw new SettingsError(`who may push? Set ${names.pushToken.variable}, or ${all}`);
  return createPushSource({ listen, token: pushToken, ...journal, operatorTimeout: patience, log });
}

/** An error that the user must fix in the files is reported in one line. */
function unfit(error: Error): never {
  throw error instanceof PemError ? new SettingsError(error.message) : error;
}

export async function startGateway({ settings, log, ...given }: GatewayOptions): Promise<Gateway> {
  const node = randomUUID();
  const facts: NodeStatusSource = { state: () => intake.state(), status: () => status.address };
  const { source, clusterCounters } = given.source
    ? { source: given.source(facts), clusterCounters: given.clusterCounters }
    : await originOf(settings, log, facts);
  const own = [settings.status, settings.push, ...(given.ownListeners ?? [])];
  const metricsOptions = { compat: settings.compat === "kong", nodeId: node, version };
  const metrics = createMetrics(metricsOptions);
  const count = workerCount(settings.workers);
  const workers = await startWorkers(count, {
    plan: { ...planOf(settings, own, { node, workers: count }), authorities: await authoritiesOf(settings) },
    log,
    metrics,
    metricsOptions,
    workerTimeout: settings.workerTimeout,
    ...(clusterCounters && { clusterCounters }),
    onHealthTransition: ({ healthy, signal: sign, ...target }: HealthTransition) =>
      log.warn({ ...target, sign }, healthy ? "a target is healthy again" : "a target is unhealthy"),
  });
  const guard = createGuard({
    allowedUpstreams: settings.allowedUpstreams,
    ownListeners: [...own, workers.address, workers.tlsAddress].filter((address) => address !== null),
  });
  const watch = new ActiveHealthChecks({
    probe: createProbe({ connect: connectBehind(guard), version }),
    onRefused: (check) => log.warn(check, "a target cannot be checked: connections to its address are refused"),
  });
  const expiries = new CertificateExpiries();
  let served: Snapshot = emptySnapshot;
  /** Unix seconds of the last accepted document. */
  let succeeded: number | null = null;
  const intake = createIntake({
    node,
    version,
    statusPort: () => status.address.port,
    async serve(snapshot: Snapshot) {
      await workers.serve(snapshot);
      logUnavailable(log, served, snapshot);
      served = snapshot;
      watch.follow(workers.balancers());
      expiries.follow(snapshot);
    },
    onUpdate({ hash, revision }) {
      succeeded = Date.now() / 1000;
      metrics.setConfig({ hash: hash ?? "", revision });
      log.debug({ hash, revision }, "serving a document");
    },
  });
  let draining = false;
  let reported: WorkersReport = await workers.report();
  const report = async () => {
    reported = await workers.report();
    return reported;
  };
  const refused = async () => mergeRefused([guard.refused(), (await report()).refused]);
  metrics.readConnections(() => reported.connections);
  metrics.readHeap(() => reported.heap);
  metrics.readTargets(() => (showsTargets(served) ? targetHealthSamples(workers.balancers()) : []));
  metrics.readDatastore(() => source.trouble() === null);
  metrics.readCertificates(() => expiries.served());
  metrics.readReloads(() => {
    const hasTrouble = source.trouble() !== null;
    return { successful: hasTrouble || succeeded !== null ? !hasTrouble : null, succeeded };
  });
  metrics.readEntities(() => entityCounts(served));
  const status = await startStatusListener(
    {
      state: intake.state,
      trouble: source.trouble,
      draining: () => draining,
      unserved: () => workers.unavailableReason(),
      connections: async () => (await report()).connections,
      heap: () => reported.heap,
      metrics: mergeMetrics(metrics, {
        async counted() {
          await report();
          return workers.metricParts();
        },
        runtime: createRuntimeMetrics({ nodeId: node, worker: 0 }),
        otherRuntimes: () => workers.runtimeMetrics(),
      }),
      refused,
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

  return {
    proxy: workers.address,
    proxyTls: workers.tlsAddress,
    status: status.address,
    state: intake.state,
    setTargetHealth: (upstreamId, targetId, address, healthy) =>
      workers.balancers().get(upstreamId)?.setHealth(targetId, address, healthy) ?? false,
    reopenLogs: accessLogFile(settings) ? () => workers.reopenLogs() : null,
    async close() {
      draining = true;
      watch.close();
      await workers.close({ deadline: settings.drain });
      await source.stop();
      await status.close();
    },
  };
}

const planOf = (
  settings: GatewaySettings,
  ownListeners: readonly ListenAddress[],
  { node, workers }: { readonly node: string; readonly workers: number },
): Omit<WorkerPlan, "authorities"> => ({
  engine: settings.engine,
  listen: settings.proxy,
  listenTls: settings.proxyTls,
  observers: observersOf(settings, node),
  settings: {
    ...defaultProxySettings,
    version,
    naming: settings.compat,
    trustedIps: settings.trustedAddresses,
    realIpHeader: settings.realIpHeader,
    keepAliveTimeout: settings.keepAlive,
    headersTimeout: settings.headersTimeout,
    bodyTimeout: settings.bodyTimeout,
    sendTimeout: settings.sendTimeout,
    bodyMinRate: settings.bodyMinRate,
    sendMinRate: settings.sendMinRate,
    minRateGrace: settings.minRateGrace,
    maxRequests: settings.maxRequests,
    maxConnections: settings.maxConnections,
    maxConnectionsPerAddress: settings.maxConnectionsPerAddress,
    probeInterval: Math.max(settings.probeInterval, 1000),
    clientMemory: Math.floor(settings.clientMemory / workers),
    cleartextHttp2: settings.proxyHttp2,
    allowedUpstreams: settings.allowedUpstreams,
    ownListeners,
  },
});

async function authoritiesOf({ trustedCertificates: file }: GatewaySettings): Promise<readonly string[]> {
  if (file === null) return [];
  return readAuthorities(file).catch((error: Error) => {
    throw new SettingsError(`${names.trustedCertificates.variable}: ${error.message}`);
  });
}

function observersOf(settings: GatewaySettings, node: string): ObserversPlan {
  const file = accessLogFile(settings);
  const url = tracesUrl(settings);
  return {
    accessLog: file === undefined ? null : { file, query: settings.accessLogQuery },
    tracing: url === null ? null : { url, sampling: settings.tracingSampling, node, version },
  };
}

/** Number of entities by collection. */
const entityCounts = ({ hash: _hash, endpoints: _endpoints, ...collections }: Snapshot): Record<string, number> =>
  Object.fromEntries(Object.entries(collections).map(([name, { size }]) => [name, size]));

/** Whether a prometheus plugin is configured to report the health of targets. */
const showsTargets = ({ plugins }: Snapshot): boolean =>
  plugins
    .values()
    .some(({ name, enabled, config }) => enabled && name === "prometheus" && config.upstream_health_metrics === true);
