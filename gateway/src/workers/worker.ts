/** A worker: snapshot -> compile -> runtime -> proxy. It is the same in the control thread and in a thread of its own. */
import { emptySnapshot, type Snapshot } from "@sluice/model/serving";
import type { BalancerTools } from "../compile/balancers.ts";
import { compile } from "../compile/compile.ts";
import { handlers, type PluginServices } from "../plugins/index.ts";
import type { ConnectionSlots, CreateProxy, ProxyListener } from "../proxy/engine.ts";
import type { ProxyLog } from "../proxy/pipeline.ts";
import type { ListenAddress, ProxySettings } from "../proxy/settings.ts";
import type { Guard } from "../proxy/upstream/guard.ts";
import { holdRuntime } from "../runtime/holder.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { type ObserversPlan, openObservers } from "./observers.ts";

/** What is plain data of what a worker is made of. */
export interface WorkerPlan {
  readonly engine: "http1" | "reply-from";
  readonly listen: ListenAddress;
  /** Null: nothing is answered over TLS. */
  readonly listenTls: ListenAddress | null;
  readonly settings: ProxySettings;
  readonly observers: ObserversPlan;
  /** PEM certificates of authorities that connections of plugins trust beside those that Node brings. */
  readonly authorities: readonly string[];
}

export interface WorkerOptions extends BalancerTools {
  readonly plan: WorkerPlan;
  /** Whether others listen on the same addresses. */
  readonly reusePort: boolean;
  /** In front of every connection that the worker makes. */
  readonly guard: Guard;
  /** Those of the node; absent: this worker has them all. */
  readonly connectionSlots?: ConnectionSlots;
  readonly log: ProxyLog;
  readonly services: PluginServices;
  /** Served from the beginning. */
  readonly snapshot?: Snapshot;
}

export interface RunningWorker {
  readonly proxy: ProxyListener;
  readonly runtime: () => Runtime;
  /** Compiles the snapshot and serves it from now on. When it throws, what was served goes on. */
  swap(snapshot: Snapshot): void;
  /** Opens files anew that were moved away. */
  reopenLogs(): void;
  /** Drains; after `deadline` milliseconds what is left is cut off. */
  close(options: { readonly deadline: number }): Promise<void>;
}

/** Only the engine that is chosen is loaded. */
const engines: Readonly<Record<WorkerPlan["engine"], () => Promise<CreateProxy>>> = {
  http1: async () => (await import("../proxy/http1/listener.ts")).createProxy,
  "reply-from": async () => (await import("../proxy/reply-from/listener.ts")).createProxy,
};

/** Rejects when an address cannot be listened on. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const {
    plan,
    reusePort,
    guard,
    connectionSlots,
    log,
    services,
    snapshot = emptySnapshot,
    onHealthTransition,
    onHealthUpdate,
  } = options;
  const tools = { handlers, services, onHealthTransition, onHealthUpdate };
  const holder = holdRuntime(compile(null, snapshot, tools));
  const observer = await openObservers(plan.observers, { snapshot: () => holder.current.snapshot, log });
  const createProxy = await engines[plan.engine]();
  const proxy = await createProxy({
    listen: plan.listen,
    ...(plan.listenTls && { listenTls: plan.listenTls }),
    reusePort,
    guard,
    ...(connectionSlots && { connectionSlots }),
    settings: plan.settings,
    log,
    observer,
    onUnrouted: services.metrics.countUnrouted,
    runtime: () => holder.current,
  });
  return {
    proxy,
    runtime: () => holder.current,
    reopenLogs: () => observer?.reopen?.(),
    async close(options) {
      await proxy.close(options);
      await observer?.close();
    },
    swap: (next) => holder.swap(compile(holder.current, next, tools)),
  };
}
