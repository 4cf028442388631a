/** Entry point of a worker thread. */
import { getHeapStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { adoptChange, emptySnapshot, registerSchemas } from "@sluice/model/serving";
import type { WindowCounters } from "@sluice/plugin-sdk";
import { sharedConcurrency } from "../../counters/concurrency.ts";
import { createCounters } from "../../counters/create-counters.ts";
import type { LeaseMemory } from "../../counters/fleet/lessee/lease-words.ts";
import { type ControlLeases, WorkerFleetCounters } from "../../counters/fleet/lessee/worker-leases.ts";
import { SharedCounters } from "../../counters/shared-counters.ts";
import { createMetrics } from "../../metrics/metrics.ts";
import { createRuntimeMetrics } from "../../metrics/runtime-metrics.ts";
import { type MetricsPart, metricsPartsOf } from "../../metrics/slices.ts";
import { connectBehind } from "../../outbound/connect.ts";
import { createGuard } from "../../outbound/guard.ts";
import { createCaches } from "../../plugin-caches/create-caches.ts";
import { createLog } from "../../settings/create-log.ts";
import { sharedConnectionLimits } from "../../shared-memory/connection-limits.ts";
import { pluginWordsOf, startHeartbeat } from "../../shared-memory/heartbeat.ts";
import { type RunningWorker, startWorker } from "../worker.ts";
import type { ControlFunctions, WorkerFunctions, WorkerThreadData } from "./messages.ts";
import { ThreadCalls } from "./thread-calls.ts";

if (parentPort === null) throw new Error("worker-thread-main.ts must be started as a thread, by worker-thread.ts");
const control = new ThreadCalls<ControlFunctions>(parentPort);

const start = workerData as WorkerThreadData;
const { bindings, level, isText } = start.logging;
const log = createLog({ level, isText, descriptor: 1, base: { ...bindings, worker: start.number } });
const metrics = createMetrics(start.metrics);
const runtime = createRuntimeMetrics({ nodeId: start.metrics.nodeId, worker: start.number });
const guard = createGuard(start.plan.settings);
const redis = {
  connect: connectBehind(guard, start.plan.authorities),
  warn: (message: string, facts: object) => log.warn(facts, message),
};
const caches = createCaches({ ...redis, memory: start.plan.cacheMemory });
/** Counters of the control thread. */
const remote: WindowCounters = {
  incrementBelowLimit: (...given) => control.call("incrementBelowLimit", ...given),
  addAmount: (...given) => control.call("addAmount", ...given),
  close: async () => undefined,
};
const leasing = (memory: LeaseMemory): ControlLeases => ({
  memory,
  addAmount: remote.addAmount,
  takeForWorker: (...given) => control.call("takeForWorker", ...given),
  refill: (counter) => control.send("refill", counter),
});
const counters = createCounters({
  ...redis,
  local: new SharedCounters({
    memory: start.memory.counters,
    owner: start.number,
    onReplace: metrics.countReplacedCounter,
  }),
  ...(start.hasClusterCounters && { cluster: remote }),
  ...(start.leases !== null && { fleet: new WorkerFleetCounters(leasing(start.leases)) }),
});
const concurrency = sharedConcurrency(start.memory.concurrency, start.number);
let snapshot = adoptChange(emptySnapshot, start.document.change, start.document.hash);
// The thread keeps its initial data until it ends. Without this deletion, replaced entities would never be freed.
Reflect.deleteProperty(start, "document");

let parts = metricsPartsOf([]);

/**
 * Returns the next part of the counts; null after the last part. The counts include no metrics of the node as a whole,
 * such as the size of its process, which the control thread reports.
 */
async function nextPart(isFirst: boolean): Promise<MetricsPart | null> {
  if (isFirst) parts = metricsPartsOf(metrics.counted);
  return (await parts.next()).value ?? null;
}

let ended: Promise<void> | null = null;
async function endServices(): Promise<void> {
  caches.close();
  await counters.close();
}

function functionsOf(worker: RunningWorker): WorkerFunctions {
  const { proxy } = worker;
  return {
    started: () => ({
      address: proxy.address,
      tlsAddress: proxy.tlsAddress,
      streamAddresses: proxy.streamAddresses,
    }),
    serve(step) {
      const next = adoptChange(snapshot, step.change, step.hash);
      worker.swap(next);
      snapshot = next;
    },
    openPorts: proxy.openPorts,
    adoptHealth: (news) => worker.runtime().balancers.get(news.upstreamId)?.adoptHealth(news),
    adoptAddresses: worker.adoptAddresses,
    adoptStapledResponses: worker.adoptStapledResponses,
    report() {
      const { total_heap_size: total, used_heap_size: used } = getHeapStatistics();
      return {
        connections: proxy.connections(),
        heap: { total, used, clients: proxy.memory() },
        refused: guard.refusedDestinations(),
      };
    },
    askPlugin: worker.askPlugin,
    nextPart,
    runtimeMetrics: runtime,
    reopenLogs: worker.reopenLogs,
    setLogLevel(level) {
      log.level = level;
    },
    stopAccepting: proxy.stopAccepting,
    async close(options) {
      await worker.close(options);
      ended ??= endServices();
      await ended;
    },
  };
}

try {
  // Needed for the log: what the thread logs about a request depends on facts of the plugins (`secretParameters`).
  await registerSchemas(start.plan.plugins);
  const worker = await startWorker({
    plan: start.plan,
    reusePort: true,
    guard,
    connectionSlots: sharedConnectionLimits(start.memory.connectionLimits, start.number),
    log,
    pluginWords: pluginWordsOf(start.heartbeat, start.number),
    services: { counters, concurrency, caches, metrics, now: Date.now },
    ...(start.isConfigured && { snapshot }),
    resolvedTargets: start.resolvedTargets,
    stapledResponses: start.stapledResponses,
    onHealthUpdate: (news) => control.send("reportHealth", news),
  });
  const functions = functionsOf(worker);
  for (const { port, code } of await worker.proxy.openPorts(start.ports))
    log.error({ port, code }, "a port that other workers have open cannot be opened");
  for (const news of start.health) functions.adoptHealth(news);
  startHeartbeat(start.heartbeat, start.number);
  control.listen(functions);
} catch (error) {
  control.listen({ started: () => Promise.reject(error) });
}
