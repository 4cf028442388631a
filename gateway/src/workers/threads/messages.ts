/** Messages between the control thread and a worker thread. All of them are plain data. */
import type { Change } from "@sluice/model";
import type { CounterResult, Counters, EndpointRequest, EndpointResponse } from "@sluice/plugin-sdk";
import type { HealthUpdate } from "../../balance/balancer.ts";
import type { ResolvedTargets } from "../../balance/target-names.ts";
import type { LeaseMemory } from "../../counters/fleet/lessee/lease-words.ts";
import type { LeasingCounters } from "../../counters/fleet/lessee/worker-leases.ts";
import type { MetricsPart } from "../../metrics/slices.ts";
import type { CloseOptions } from "../../proxy/engine.ts";
import type { DocumentPort, PortFailure } from "../../proxy/listener/document-ports.ts";
import type { StapledResponses } from "../../proxy/listener/tls-listener.ts";
import type { ListenAddress, StreamListenAddress } from "../../proxy/settings.ts";
import type { HeartbeatOptions } from "../../shared-memory/heartbeat.ts";
import type { WorkerPlan } from "../worker.ts";
import type { StartWorkersOptions, WorkerReport } from "../workers.ts";
import type { NodeMemory } from "./node-memory.ts";

export interface WorkerThreadData {
  /** The number of the thread, from 1; 0 is the control thread. */
  readonly number: number;
  readonly plan: WorkerPlan;
  readonly memory: NodeMemory;
  readonly heartbeat: HeartbeatOptions;
  readonly metrics: StartWorkersOptions["metricsOptions"];
  readonly logging: {
    readonly level: string;
    readonly isText: boolean;
    readonly bindings: Readonly<Record<string, unknown>>;
  };
  readonly hasClusterCounters: boolean;
  /** The tokens that the node has leased from its fleet; null: it belongs to none. */
  readonly leases: LeaseMemory | null;
  readonly document: SnapshotDelta;
  /** Whether `document` has arrived; false: it is empty, because none has. */
  readonly isConfigured: boolean;
  /** The ports of the document that the other threads have open. */
  readonly ports: readonly DocumentPort[];
  readonly resolvedTargets: ResolvedTargets;
  readonly stapledResponses: StapledResponses;
  /** The targets whose health is not the default `healthy`. */
  readonly health: readonly HealthUpdate[];
}

/** The change from the snapshot that the thread serves to the next one, and the hash of the next one. */
export interface SnapshotDelta {
  readonly change: Change;
  readonly hash: string;
}

export interface ListenAddresses {
  readonly address: ListenAddress;
  readonly tlsAddress: ListenAddress | null;
  readonly streamAddresses: readonly StreamListenAddress[];
}

export type WorkerFunctions = {
  /** Where the worker listens. */
  readonly started: () => ListenAddresses;
  readonly serve: (step: SnapshotDelta) => void;
  readonly openPorts: (ports: readonly DocumentPort[]) => Promise<readonly PortFailure[]>;
  readonly adoptHealth: (news: HealthUpdate) => void;
  readonly adoptAddresses: (resolved: ResolvedTargets) => void;
  readonly adoptStapledResponses: (responses: StapledResponses) => void;
  readonly report: () => WorkerReport;
  readonly askPlugin: (pluginId: string, request: EndpointRequest) => Promise<EndpointResponse | null>;
  /** The next part of the worker's counts; null after the last part. */
  readonly nextPart: (isFirst: boolean) => Promise<MetricsPart | null>;
  /** The worker's `nodejs_*` metrics. */
  readonly runtimeMetrics: () => Promise<readonly MetricsPart[]>;
  readonly reopenLogs: () => void;
  readonly setLogLevel: (level: string) => void;
  readonly stopAccepting: () => Promise<void>;
  readonly close: (options: Required<CloseOptions>) => Promise<void>;
};

export type ControlFunctions = {
  readonly reportHealth: (news: HealthUpdate) => void;
  /** Counters that only the control thread can reach: those in the database. */
  readonly incrementBelowLimit: (
    ...given: Parameters<Counters["incrementBelowLimit"]>
  ) => CounterResult | Promise<CounterResult>;
  /** Those in the database, and those of the fleet. */
  readonly addAmount: (...given: Parameters<Counters["addAmount"]>) => ReturnType<Counters["addAmount"]>;
  readonly takeForWorker: LeasingCounters["takeForWorker"];
  readonly refill: LeasingCounters["refill"];
};
