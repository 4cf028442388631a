/**
 * A worker: snapshot -> compile -> runtime -> proxy. The same code runs in the control thread and in a worker thread.
 */
import { emptySnapshot, importPlugins, NODE_ENDPOINT_ID, type Snapshot } from "@sluice/model/serving";
import type { EndpointRequest, EndpointResponse } from "@sluice/plugin-sdk";
import { builtInPlugins, createClientVerifier } from "@sluice/plugins";
import { noResolvedTargets, type ResolvedTargets } from "../balance/target-names.ts";
import type { BalancerTools } from "../compile/balancers.ts";
import { compile } from "../compile/compile.ts";
import type { Runtime } from "../compile/runtime.ts";
import { explain } from "../explain/explain.ts";
import { connectBehind } from "../outbound/connect.ts";
import { datagramsBehind } from "../outbound/datagrams.ts";
import type { Guard } from "../outbound/guard.ts";
import type { ServicesLog, WorkerServices } from "../plugin-services/instance-context.ts";
import { measuredPlugins } from "../plugin-services/phase-meter.ts";
import { pluginWords } from "../plugin-services/running-plugin.ts";
import { DebugTokens } from "../proxy/debug/debug-tokens.ts";
import type { CloseOptions, CreateProxy, ProxyListener, ProxyLog } from "../proxy/engine.ts";
import { httpClientsBehind } from "../proxy/http1/plugin-client/http-client.ts";
import { noStapledResponses, type StapledResponses } from "../proxy/listener/tls-listener.ts";
import type { AccessLogPlan } from "../proxy/observability/access-log/access-log.ts";
import { combineObservers, type RequestObserver } from "../proxy/observability/observer.ts";
import { RecentRequestLog } from "../proxy/observability/recent-requests.ts";
import { streamSessionOf } from "../proxy/observability/request-records.ts";
import { RequestTaps } from "../proxy/observability/request-taps.ts";
import type { TracingPlan } from "../proxy/observability/tracing/tracing.ts";
import { TrafficLog } from "../proxy/observability/traffic-log.ts";
import type { ListenAddress, ProxySettings, StreamListenAddress } from "../proxy/settings.ts";
import type { ConnectionSlots } from "../shared-memory/connection-limits.ts";
import type { PluginWords } from "../shared-memory/heartbeat.ts";
import { answerForNode, type NodeEndpointTools } from "./endpoints/node-endpoints.ts";
import { PluginLifecycle } from "./plugin-lifecycle.ts";

/** The access log and tracing; null: off. */
export interface ObserversPlan {
  readonly accessLog: AccessLogPlan | null;
  readonly tracing: TracingPlan | null;
}

/** The part of a worker's options that is plain data. */
export interface WorkerPlan {
  readonly engine: "http1" | "reply-from";
  readonly listen: ListenAddress;
  /** Null: no TLS listener. */
  readonly listenTls: ListenAddress | null;
  /** Listeners for connections that are not HTTP. */
  readonly listenStreams: readonly StreamListenAddress[];
  readonly settings: ProxySettings;
  readonly observers: ObserversPlan;
  /** URLs of the code of plugins that do not come with Sluice. */
  readonly plugins: readonly string[];
  /** PEM certificates of authorities that plugin connections trust in addition to those of Node. */
  readonly authorities: readonly string[];
  /** Environment variables that references to vaults may read. */
  readonly vaultVariables: readonly string[];
  /** A request is slow, and is remembered, if its response takes at least this many milliseconds to begin. */
  readonly slowRequest: number;
  /** Maximum bytes of the worker's plugin caches in memory. */
  readonly cacheMemory: number;
}

export interface WorkerOptions extends Pick<BalancerTools, "onHealthTransition" | "onHealthUpdate"> {
  readonly plan: WorkerPlan;
  /** Whether other workers listen on the same addresses. */
  readonly reusePort: boolean;
  /** Checks every connection that the worker makes. */
  readonly guard: Guard;
  /** The connection slots that the node's workers share; absent: this worker has all of them. */
  readonly connectionSlots?: ConnectionSlots;
  readonly log: ServicesLog;
  /** Where the worker notes which plugin runs. Default: memory that only this thread uses. */
  readonly pluginWords?: PluginWords;
  readonly services: Pick<WorkerServices, "counters" | "concurrency" | "caches" | "metrics" | "now">;
  /** The snapshot that the worker serves from the start. Absent: no configuration has arrived yet. */
  readonly snapshot?: Snapshot;
  /** The addresses of targets at the start. Default: none are known. */
  readonly resolvedTargets?: ResolvedTargets;
  /** The OCSP responses at the start. Default: there are none. */
  readonly stapledResponses?: StapledResponses;
}

export interface RunningWorker {
  readonly proxy: ProxyListener;
  readonly runtime: () => Runtime;
  /** Compiles the snapshot and serves it. If it throws, the previous snapshot stays active. */
  swap(snapshot: Snapshot): void;
  /** Makes these addresses the members of the targets with these names. */
  adoptAddresses(resolved: ResolvedTargets): void;
  /** Sends these OCSP responses in TLS handshakes from now on. */
  adoptStapledResponses(responses: StapledResponses): void;
  /**
   * The response of an endpoint of an instance, or of the node itself (`NODE_ENDPOINT_ID`); null: there is no such
   * endpoint or instance.
   */
  askPlugin(pluginId: string, request: EndpointRequest): Promise<EndpointResponse | null>;
  /** Reopens files that were moved. */
  reopenLogs(): void;
  /** Drains. A second call can only shorten the drain. */
  close(options: CloseOptions): Promise<void>;
}

/** Only the configured engine is loaded. */
const engines: Readonly<Record<WorkerPlan["engine"], () => Promise<CreateProxy>>> = {
  http1: async () => (await import("../proxy/http1/listener.ts")).createHttp1Proxy,
  "reply-from": async () => (await import("../proxy/reply-from/listener.ts")).createReplyFromProxy,
};

/** Rejects when an address cannot be listened on, the access log cannot be opened, or a plugin cannot be imported. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const {
    plan,
    reusePort,
    guard,
    connectionSlots,
    log,
    services,
    pluginWords: words = pluginWords(),
    snapshot = null,
    resolvedTargets = noResolvedTargets,
    onHealthTransition,
    onHealthUpdate,
  } = options;
  const available = [...builtInPlugins, ...(await importPlugins(plan.plugins))];
  const plugins = measuredPlugins(available, { metrics: services.metrics, log, words });
  const connect = connectBehind(guard, plan.authorities);
  const traffic = new TrafficLog();
  let isConfigured = snapshot !== null;
  let resolved = resolvedTargets;
  let stapled = options.stapledResponses ?? noStapledResponses;
  const tools = {
    plugins,
    services: {
      ...services,
      operations: traffic,
      connect,
      openHttpClient: httpClientsBehind(connect),
      datagrams: datagramsBehind(guard),
      vault: { allowed: plan.vaultVariables, variables: process.env },
      log,
    },
    onHealthTransition,
    onHealthUpdate,
    resolvedTargets: () => resolved,
    isConfigured: () => isConfigured,
    zone: plan.settings.zone,
  };
  const instances = new PluginLifecycle();
  let runtime = compile(null, snapshot ?? emptySnapshot, tools);
  instances.replaced(null, runtime);
  const recentRequests = new RecentRequestLog({ slowAfter: plan.slowRequest });
  const own = { recentRequests, traffic, taps: new RequestTaps(), debugTokens: new DebugTokens() };
  const observer = combineObservers([
    ...(await openObservers(plan.observers, { snapshot: () => runtime.snapshot, log })),
    own.recentRequests,
    traffic,
    own.taps,
    {
      streamed: (record) => services.metrics.countStream(streamSessionOf(record)),
      retried: ({ service }, isSent) => services.metrics.countRetry(service?.name ?? service?.host ?? "", isSent),
    },
  ]);
  const createProxy = await engines[plan.engine]();
  const proxy = await createProxy({
    listen: plan.listen,
    ...(plan.listenTls && { listenTls: plan.listenTls }),
    listenStreams: plan.listenStreams,
    reusePort,
    guard,
    ...(connectionSlots && { connectionSlots }),
    settings: plan.settings,
    log,
    observer,
    debugTokens: own.debugTokens,
    onUnrouted: services.metrics.countUnrouted,
    createClientVerifier,
    stapledResponses: () => stapled,
    runtime: () => runtime,
  });
  const nodeTools: NodeEndpointTools = {
    explain: (described) =>
      explain(described, {
        runtime,
        plugins,
        services: tools.services,
        settings: plan.settings,
        reasonToRefuse: guard.reasonToRefuse,
        reachesGrpc: plan.engine === "http1",
        streamAddresses: proxy.streamAddresses,
      }),
    ...own,
  };
  let ended: Promise<void> | null = null;
  // The new runtime replaces the old one by one assignment: requests in flight keep the runtime that they began with.
  function swap(next: Snapshot) {
    const previous = runtime;
    runtime = compile(previous, next, tools);
    instances.replaced(previous, runtime);
  }
  async function endServices() {
    await instances.close(runtime);
    await observer.close();
  }
  return {
    proxy,
    runtime: () => runtime,
    async askPlugin(pluginId, request) {
      try {
        if (pluginId === NODE_ENDPOINT_ID) return await answerForNode(request, nodeTools);
        return (await runtime.pluginPhases(pluginId)?.endpoint?.(request)) ?? null;
      } catch (error) {
        const what = pluginId === NODE_ENDPOINT_ID ? "the node" : "the plugin";
        log.error({ err: error, instance: pluginId }, `an endpoint of ${what} failed`);
        return { status: 500, body: { message: `${what} failed: ${(error as Error).message}` } };
      }
    },
    reopenLogs: () => observer.reopen?.(),
    async close(options) {
      await proxy.close(options);
      ended ??= endServices();
      await ended;
    },
    swap(next) {
      isConfigured = true;
      swap(next);
    },
    adoptAddresses(next) {
      resolved = next;
      swap(runtime.snapshot);
    },
    adoptStapledResponses(next) {
      stapled = next;
    },
  };
}

/** Empty when access log and tracing are off. Rejects when the access log cannot be opened. */
async function openObservers(
  { accessLog, tracing }: ObserversPlan,
  options: { readonly snapshot: () => Snapshot; readonly log: ProxyLog },
): Promise<readonly RequestObserver[]> {
  const observers: RequestObserver[] = [];
  // Only observers that are on are loaded. Tracing comes first, so that the access log can record the traces that
  // tracing began.
  if (tracing !== null)
    observers.push((await import("../proxy/observability/tracing/tracing.ts")).openTracing(tracing, options.log));
  if (accessLog !== null) {
    const { openAccessLog } = await import("../proxy/observability/access-log/access-log.ts");
    observers.push(await openAccessLog({ plan: accessLog, ...options }));
  }
  return observers;
}
