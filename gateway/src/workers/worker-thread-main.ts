/** Entry point of a worker thread. */
import { hostname } from "node:os";
import { pid } from "node:process";
import { getHeapStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { adoptChange, emptySnapshot } from "@sluice/model/serving";
import { pino } from "pino";
import { createCounters } from "../counters/create-counters.ts";
import { SharedCounters } from "../counters/shared-counters.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { createRuntimeMetrics } from "../metrics/runtime-metrics.ts";
import { partsOf } from "../metrics/slices.ts";
import { connectBehind } from "../outbound/connect.ts";
import { createGuard } from "../outbound/guard.ts";
import { sharedConnectionLimits } from "../shared-memory/connection-limits.ts";
import { startHeartbeat } from "../shared-memory/heartbeat.ts";
import { RemoteClusterCounters } from "./cluster-counters.ts";
import { type ControlMessage, serializeError, type WorkerMessage, type WorkerThreadData } from "./messages.ts";
import { type RunningWorker, startWorker } from "./worker.ts";

const port = parentPort;
if (port === null) throw new Error("worker-thread-main.ts must be started as a thread, by worker-pool.ts");
const post = (word: WorkerMessage): void => port.postMessage(word);

const start = workerData as WorkerThreadData;
const { bindings, level } = start.logging;
const log = pino({ level, base: { pid, hostname: hostname(), ...bindings, worker: start.number } });
const metrics = createMetrics(start.metrics);
const runtime = createRuntimeMetrics({ nodeId: start.metrics.nodeId, worker: start.number });
const cluster = start.hasClusterCounters ? new RemoteClusterCounters(post) : undefined;
const guard = createGuard(start.plan.settings);
const counters = createCounters({
  connect: connectBehind(guard, start.plan.authorities),
  warn: (message, facts) => log.warn(facts, message),
  local: new SharedCounters({ memory: start.memory, owner: start.number }),
  ...(cluster && { cluster }),
});
let snapshot = adoptChange(emptySnapshot, start.document.change, start.document.hash);
// The initial data lives as long as the thread: without this, replaced entities would never be freed.
Reflect.deleteProperty(start, "document");

function handle(worker: RunningWorker, order: ControlMessage): void {
  switch (order.kind) {
    case "serve":
      try {
        const next = adoptChange(snapshot, order.step.change, order.step.hash);
        worker.swap(next);
        snapshot = next;
        post({ kind: "served" });
      } catch (error) {
        post({ kind: "failed", error: serializeError(error) });
      }
      return;
    case "health":
      worker.runtime().balancers.get(order.news.upstreamId)?.adoptHealth(order.news);
      return;
    case "report":
      report(worker);
      return;
    case "count":
      void count();
      return;
    case "reopen":
      worker.reopenLogs();
      return;
    case "taken":
      cluster?.taken(order.id, order.taken);
      return;
    case "untaken":
      cluster?.untaken(order.id, order.message);
      return;
    case "close":
      void close(worker, order.deadline);
  }
}

function report({ proxy }: RunningWorker): void {
  const { total_heap_size: total, used_heap_size: used } = getHeapStatistics();
  post({
    kind: "report",
    report: {
      connections: proxy.connections(),
      heap: { total, used, clients: proxy.memory() },
      refused: guard.refused(),
    },
  });
}

/** Metrics of the node as a whole, such as the size of its process, are reported by the control thread. */
async function count(): Promise<void> {
  for await (const part of partsOf(metrics.counted)) post({ kind: "part", part });
  post({ kind: "counted", runtime: await runtime() });
}

async function close(worker: RunningWorker, deadline: number): Promise<void> {
  await worker.close({ deadline });
  await counters.close();
  post({ kind: "closed" });
}

try {
  const worker = await startWorker({
    plan: start.plan,
    reusePort: true,
    guard,
    connectionSlots: sharedConnectionLimits(start.connectionLimits, start.number),
    log,
    services: { counters, metrics, now: Date.now },
    snapshot,
    onHealthUpdate: (news) => post({ kind: "health", news }),
  });
  for (const news of start.health) worker.runtime().balancers.get(news.upstreamId)?.adoptHealth(news);
  startHeartbeat(start.heartbeat, start.number);
  // Messages that arrived during the start have been queued.
  port.on("message", (order: ControlMessage) => handle(worker, order));
  post({ kind: "listening", address: worker.proxy.address, tlsAddress: worker.proxy.tlsAddress });
} catch (error) {
  post({ kind: "refused", error: serializeError(error) });
}
