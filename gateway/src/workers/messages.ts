/** Messages between the control thread and a worker thread. All are plain data. */
import type { Change, RateLimitingConfig } from "@sluice/model";
import type { HealthUpdate } from "../balance/balancer.ts";
import type { Counter, Taken } from "../counters/counters.ts";
import type { CountersMemory } from "../counters/shared-counters.ts";
import type { Connections, Heap } from "../metrics/metrics.ts";
import type { MetricsPart } from "../metrics/slices.ts";
import type { RefusedDestination } from "../outbound/refused-destinations.ts";
import type { ListenAddress } from "../proxy/settings.ts";
import type { ConnectionLimitsMemory } from "../shared-memory/connection-limits.ts";
import type { HeartbeatOptions } from "../shared-memory/heartbeat.ts";
import type { WorkerPlan } from "./worker.ts";
import type { StartWorkersOptions } from "./workers.ts";

/** The initial data of a thread. */
export interface WorkerThreadData {
  /** From 1; 0 is the control thread. */
  readonly number: number;
  readonly plan: WorkerPlan;
  readonly memory: CountersMemory;
  readonly connectionLimits: ConnectionLimitsMemory;
  readonly heartbeat: HeartbeatOptions;
  readonly metrics: StartWorkersOptions["metricsOptions"];
  readonly logging: { readonly level: string; readonly bindings: Readonly<Record<string, unknown>> };
  readonly hasClusterCounters: boolean;
  readonly document: SnapshotDelta;
  /** The targets whose health is not the default `healthy`. */
  readonly health: readonly HealthUpdate[];
}

/** The change from the snapshot that the thread serves to the next one. */
export interface SnapshotDelta {
  readonly change: Change;
  readonly hash: string;
}

/** To a worker. */
export type ControlMessage =
  | { readonly kind: "serve"; readonly step: SnapshotDelta }
  | { readonly kind: "health"; readonly news: HealthUpdate }
  | { readonly kind: "report" }
  | { readonly kind: "count" }
  | { readonly kind: "reopen" }
  | { readonly kind: "taken"; readonly id: number; readonly taken: Taken }
  | { readonly kind: "untaken"; readonly id: number; readonly message: string }
  | { readonly kind: "close"; readonly deadline: number };

/** From a worker. */
export type WorkerMessage =
  | { readonly kind: "listening"; readonly address: ListenAddress; readonly tlsAddress: ListenAddress | null }
  | { readonly kind: "refused"; readonly error: SerializedError }
  | { readonly kind: "served" }
  | { readonly kind: "failed"; readonly error: SerializedError }
  | { readonly kind: "health"; readonly news: HealthUpdate }
  | { readonly kind: "report"; readonly report: WorkerThreadReport }
  /** A part of the counts; `counted` follows the last part. */
  | { readonly kind: "part"; readonly part: MetricsPart }
  | { readonly kind: "counted"; readonly runtime: readonly MetricsPart[] }
  | {
      readonly kind: "take";
      readonly id: number;
      readonly counters: readonly Counter[];
      readonly config: RateLimitingConfig;
    }
  | { readonly kind: "closed" };

export interface WorkerThreadReport {
  readonly connections: Connections;
  readonly heap: Heap;
  readonly refused: readonly RefusedDestination[];
}

/** An error as sent in a message: structured clones of errors keep only message and stack. */
export interface SerializedError {
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly port?: number;
}

export function serializeError(error: unknown): SerializedError {
  if (!(error instanceof Error)) return { message: String(error) };
  const { message, stack, code, port } = error as Error & { readonly code?: string; readonly port?: number };
  return { message, stack, ...(code !== undefined && { code }), ...(port !== undefined && { port }) };
}

export const deserializeError = ({ message, ...members }: SerializedError): Error =>
  Object.assign(new Error(message), members);
