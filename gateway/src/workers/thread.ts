/** The thread of a worker. */
import { hostname } from "node:os";
import { pid } from "node:process";
import { getHeapStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { adoptChange, emptySnapshot } from "@sluice/model/serving";
import { pino } from "pino";
import { createCounters, createMetrics, createRuntimeMetrics, partsOf } from "../plugins/index.ts";
import { SharedCounters } from "../plugins/rate-limiting/shared.ts";
import { connectBehind } from "../proxy/upstream/connect.ts";
import { createGuard } from "../proxy/upstream/guard.ts";
import { ClusterCounters } from "./cluster-counters.ts";
import { startBeating } from "./heartbeat.ts";
import { type Order, refusalOf, type ThreadStart, type Word } from "./messages.ts";
import { sharedPlaces } from "./shared-places.ts";
import { type RunningWorker, startWorker } from "./worker.ts";

const port = parentPort;
if (port === null) throw new Error("thread.ts is started by crew.ts as a thread, not by itself");
const tell = (word: Word): void => port.postMessage(word);

const start = workerData as ThreadStart;
const { bindings, level } = start.logging;
const log = pino({ level, base: { pid, hostname: hostname(), ...bindings, worker: start.number } });
const metrics = createMetrics(start.metrics);
const runtime = createRuntimeMetrics({ nodeId: start.metrics.nodeId, worker: start.number });
const cluster = start.countsInCluster ? new ClusterCounters(tell) : undefined;
const guard = createGuard(start.plan.settings);
const counters = createCounters({
  connect: connectBehind(guard, start.plan.authorities),
  warn: (message, facts) => log.warn(facts, message),
  local: new SharedCounters({ memory: start.memory, owner: start.number }),
  ...(cluster && { cluster }),
});
let snapshot = adoptChange(emptySnapshot, start.document.change, start.document.hash);
// What a thread begins with stays with it: without this, all that has been replaced since would be kept.
Reflect.deleteProperty(start, "document");

function take(worker: RunningWorker, order: Order): void {
  switch (order.kind) {
    case "serve":
      try {
        const next = adoptChange(snapshot, order.step.change, order.step.hash);
        worker.swap(next);
        snapshot = next;
        tell({ kind: "served" });
      } catch (error) {
        tell({ kind: "failed", error: refusalOf(error) });
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
  tell({
    kind: "report",
    report: {
      connections: proxy.connections(),
      heap: { total, used, clients: proxy.memory() },
      refused: guard.refused(),
    },
  });
}

/** What the node as a whole has, such as the size of its process, the control thread tells. */
async function count(): Promise<void> {
  for await (const part of partsOf(metrics.tables)) tell({ kind: "part", part });
  tell({ kind: "counted", runtime: await runtime() });
}

async function close(worker: RunningWorker, deadline: number): Promise<void> {
  await worker.close({ deadline });
  await counters.close();
  tell({ kind: "closed" });
}

try {
  const worker = await startWorker({
    plan: start.plan,
    reusePort: true,
    guard,
    connectionSlots: sharedPlaces(start.places, start.number),
    log,
    services: { counters, metrics, now: Date.now },
    snapshot,
    onHealthUpdate: (news) => tell({ kind: "health", news }),
  });
  for (const news of start.health) worker.runtime().balancers.get(news.upstreamId)?.adoptHealth(news);
  startBeating(start.heart, start.number);
  // What came while the worker started has waited.
  port.on("message", (order: Order) => take(worker, order));
  tell({ kind: "listening", address: worker.proxy.address, tlsAddress: worker.proxy.tlsAddress });
} catch (error) {
  tell({ kind: "refused", error: refusalOf(error) });
}
