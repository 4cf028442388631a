/** The workers of a node: one in the control thread, or one or several in threads of their own. */
import type { FailedListener, Snapshot } from "@sluice/model";
import type { EndpointRequest, EndpointResponse, WindowCounters } from "@sluice/plugin-sdk";
import type { Logger } from "pino";
import type { Balancer } from "../balance/balancer.ts";
import type { ResolvedTargets } from "../balance/target-names.ts";
import type { BalancerTools } from "../compile/balancers.ts";
import type { LeasingCounters } from "../counters/fleet/lessee/worker-leases.ts";
import type { Connections, GatewayMetrics, Heap } from "../metrics/metrics.ts";
import type { MetricsPart } from "../metrics/slices.ts";
import type { RefusedDestination } from "../outbound/refused-destinations.ts";
import type { StapledResponses } from "../proxy/listener/tls-listener.ts";
import type { ListenAddress, StreamListenAddress } from "../proxy/settings.ts";
import type { WorkerPlan } from "./worker.ts";

/** Policies that are not here cannot be used. */
export interface ControlCounters {
  /** The counters in the database. */
  readonly cluster?: WindowCounters;
  /** The counters of the nodes of the fleet. */
  readonly fleet?: LeasingCounters;
}

export interface StartWorkersOptions extends Pick<BalancerTools, "onHealthTransition" | "onHealthUpdate"> {
  readonly plan: WorkerPlan;
  readonly log: Logger;
  /** Whether threads write their log lines as text. */
  readonly isTextLog: boolean;
  /** The metrics of the node; a worker in the control thread counts in them directly. */
  readonly metrics: GatewayMetrics;
  readonly metricsOptions: { readonly compat: boolean; readonly nodeId: string; readonly version: string };
  /** Milliseconds after which a thread with a blocked event loop is replaced. */
  readonly workerTimeout: number;
  /** Counters that only the control thread can reach, by policy. */
  readonly controlCounters: ControlCounters;
}

export interface Workers {
  readonly address: ListenAddress;
  /** Null without a TLS listener. */
  readonly tlsAddress: ListenAddress | null;
  /** The listeners for connections that are not HTTP. */
  readonly streamAddresses: readonly StreamListenAddress[];
  /**
   * Resolves once every worker serves the snapshot, and has opened the ports of its listeners or failed to do so. When it
   * rejects, all workers keep the previous snapshot.
   */
  serve(snapshot: Snapshot): Promise<void>;
  /** The listeners of the served snapshot that are not served, because their ports cannot be opened. */
  failedListeners(): readonly FailedListener[];
  /** The balancers of the served snapshot, by upstream id. A health change made here applies to all workers. */
  balancers(): ReadonlyMap<string, Balancer>;
  /** Makes these addresses the members of the targets with these names, for all workers. */
  adoptAddresses(resolved: ResolvedTargets): void;
  /** Sends these OCSP responses in the TLS handshakes of all workers from now on. */
  adoptStapledResponses(responses: StapledResponses): void;
  report(): Promise<WorkersReport>;
  /**
   * Calls an endpoint of a plugin instance or of the node (`NODE`) in every worker. The endpoint that explains requests
   * is called in one worker only (`isAnsweredByOne`). Resolves to one response per called worker, without the workers
   * that have no such instance or endpoint.
   */
  askPlugin(pluginId: string, request: EndpointRequest): Promise<readonly EndpointResponse[]>;
  /** The counts and `nodejs_*` metrics of the threads; null when everything is counted in the control thread. */
  metricParts(): Promise<AsyncIterable<MetricsPart> | null>;
  /** The reason why no worker accepts requests; null when one does. */
  unavailableReason(): string | null;
  /** Reopens files that were moved. */
  reopenLogs(): void;
  /** Sets the level of the logs of worker threads. The log of the control thread is the caller's. */
  setLogLevel(level: string): void;
  /** Resolves when `reload` may be called. Rejects with a SettingsError if the code of plugins cannot be replaced. */
  readyToReload(): Promise<void>;
  /**
   * Replaces all workers by new ones, which import the plugins' modules and serve the snapshot. Resolves once the new
   * workers serve and the old ones accept no more connections. No request fails: the old workers serve the requests of
   * open connections, and announce the end of the connection in the response. If it rejects, the old workers continue.
   *
   * @param plugins See `WorkerPlan`
   */
  reload(plugins: readonly string[], snapshot: Snapshot): Promise<void>;
  /** Drains all workers; open requests are cut off after `deadline` milliseconds. */
  close(options: { readonly deadline: number }): Promise<void>;
}

export interface WorkerReport {
  /** Totals of connections and requests since the start of the worker, and the current numbers of connections. */
  readonly connections: Connections;
  /** Bytes of the heap of the worker's thread (0 if that is the control thread), and of the memory of its clients. */
  readonly heap: Heap;
  /** Destinations that the worker refused to connect to, because their addresses are not allowed. */
  readonly refused: readonly RefusedDestination[];
}

/** The sum of the reports of all workers. Totals of connections include workers that have ended. */
export interface WorkersReport extends WorkerReport {
  /** The configured number of workers, and the number of workers that accept connections. */
  readonly workers: { readonly configured: number; readonly running: number };
}
