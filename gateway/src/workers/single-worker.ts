/** A single worker, run in the control thread. */
import { SettingsError } from "@sluice/model/serving";
import { ThreadConcurrency } from "../counters/concurrency.ts";
import { createCounters } from "../counters/create-counters.ts";
import { ThreadCounters } from "../counters/thread-counters.ts";
import { connectBehind } from "../outbound/connect.ts";
import { createGuard } from "../outbound/guard.ts";
import { createCaches } from "../plugin-caches/create-caches.ts";
import { ListenerPorts, ownPorts } from "./listener-ports.ts";
import { startWorker } from "./worker.ts";
import type { StartWorkersOptions, Workers } from "./workers.ts";

export async function startSingleWorker({
  plan,
  log,
  metrics,
  controlCounters,
  onHealthTransition,
  onHealthUpdate,
}: StartWorkersOptions): Promise<Workers> {
  const guard = createGuard(plan.settings);
  const redis = {
    connect: connectBehind(guard, plan.authorities),
    warn: (message: string, facts: object) => log.warn(facts, message),
  };
  const caches = createCaches({ ...redis, memory: plan.cacheMemory });
  const counters = createCounters({
    ...redis,
    local: new ThreadCounters({ onReplace: metrics.countReplacedCounter }),
    ...controlCounters,
  });
  const { proxy, runtime, swap, askPlugin, close, ...worker } = await startWorker({
    plan,
    reusePort: false,
    guard,
    log,
    services: { counters, concurrency: new ThreadConcurrency(), caches, metrics, now: Date.now },
    onHealthTransition,
    onHealthUpdate,
  });
  const ports = new ListenerPorts({
    open: proxy.openPorts,
    ownPorts: () => ownPorts(plan.settings, proxy),
    log,
  });
  return {
    address: proxy.address,
    tlsAddress: proxy.tlsAddress,
    streamAddresses: proxy.streamAddresses,
    async serve(snapshot) {
      swap(snapshot);
      await ports.openListeners(snapshot.listeners);
    },
    failedListeners: () => ports.failed,
    balancers: () => runtime().balancers,
    adoptAddresses: worker.adoptAddresses,
    adoptStapledResponses: worker.adoptStapledResponses,
    report: async () => ({
      workers: { configured: 1, running: 1 },
      connections: proxy.connections(),
      heap: { total: 0, used: 0, clients: proxy.memory() },
      refused: guard.refusedDestinations(),
    }),
    askPlugin: async (...given) => [await askPlugin(...given)].filter((response) => response !== null),
    metricParts: async () => null,
    unavailableReason: () => null,
    reopenLogs: worker.reopenLogs,
    setLogLevel: () => undefined,
    readyToReload: async () => {
      throw new SettingsError(
        "the code of plugins can only be loaded again in new worker threads, and this node has none, because this " +
          "system cannot share an address among threads: restart the node",
      );
    },
    reload: async () => {
      throw new Error("the worker in the control thread cannot be replaced");
    },
    async close(options) {
      ports.close();
      await close(options);
      caches.close();
      await counters.close();
    },
  };
}
