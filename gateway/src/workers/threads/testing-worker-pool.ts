/** Starts worker pools and upstreams for tests, and blocks a thread of a pool. */
import { createServer, type RequestListener } from "node:http";
import { Session } from "node:inspector/promises";
import type { AddressInfo } from "node:net";
import { after, before, type TestContext } from "node:test";
import { emptySnapshot, loadText, type Snapshot } from "@sluice/model";
import { pino } from "pino";
import { createMetrics } from "../../metrics/metrics.ts";
import { defaultProxySettings, type ProxySettings } from "../../proxy/settings.ts";
import type { ControlCounters } from "../workers.ts";
import { startWorkerPool, type WorkerPool } from "./worker-pool.ts";

/** The snapshot of a declarative document. */
export function snapshotOfDocument(document: object, previous: Snapshot = emptySnapshot): Snapshot {
  const loaded = loadText(JSON.stringify({ _format_version: "3.0", ...document }), { previous });
  if (loaded.violations) throw new Error(JSON.stringify(loaded.violations));
  return loaded.value.snapshot;
}

export interface TestPoolOptions {
  readonly count?: number;
  readonly controlCounters?: ControlCounters;
  readonly settings?: Partial<ProxySettings>;
  readonly workerTimeout?: number;
  /** File of the access log. Default: none. */
  readonly accessLog?: string;
  /** URLs of plugins that do not come with Sluice. Default: none. */
  readonly plugins?: readonly string[];
}

export interface TestPool {
  readonly pool: WorkerPool;
  readonly log: readonly { readonly level: number; readonly msg: string }[];
}

/** Starts a pool that is closed when the test ends. `log` of the result receives its errors. */
export async function startTestPool(
  context: Pick<TestContext, "after">,
  {
    count = 2,
    controlCounters = {},
    settings,
    workerTimeout = 30_000,
    accessLog: file,
    plugins = [],
  }: TestPoolOptions = {},
): Promise<TestPool> {
  const log: { level: number; msg: string }[] = [];
  const metricsOptions = { compat: false, nodeId: "n", version: "1" };
  const pool = await startWorkerPool(count, {
    plan: {
      engine: "http1",
      listen: { host: "127.0.0.1", port: 0 },
      listenTls: null,
      listenStreams: [],
      settings: { ...defaultProxySettings, version: "1", allowedUpstreams: ["127.0.0.0/8"], ...settings },
      observers: { accessLog: file === undefined ? null : { file, query: false }, tracing: null },
      plugins,
      authorities: [],
      vaultVariables: [],
      slowRequest: 1000,
      cacheMemory: 1_048_576,
    },
    // Only the control thread logs here. The threads write their own log lines to standard output.
    log: pino({ level: "error" }, { write: (line: string) => void log.push(JSON.parse(line)) }),
    isTextLog: false,
    metrics: createMetrics(metricsOptions),
    metricsOptions,
    workerTimeout,
    controlCounters,
  });
  context.after(() => pool.close({ deadline: 0 }));
  return { pool: pool, log };
}

/**
 * One pool of two workers for all tests of the suite that calls this function. Starting the threads takes longer than
 * most tests; a test replaces the document of the test before it.
 */
export function sharedTestPool(): () => WorkerPool {
  const endings: (() => Promise<void>)[] = [];
  let shared: TestPool | undefined;
  before(async () => {
    shared = await startTestPool({ after: (end) => void endings.push(end as () => Promise<void>) });
  });
  after(async () => {
    for (const end of endings) await end();
  });
  return () => {
    if (shared === undefined) throw new Error("the pool has not started");
    return shared.pool;
  };
}

/** Starts an upstream on a free port, until the test ends. Returns its URL. */
export async function startUpstreamUrl(context: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Blocks the event loop of one thread for this many milliseconds; `over` resolves when the thread responds again. */
export async function blockOneThread(
  context: TestContext,
  milliseconds: number,
): Promise<{ readonly over: Promise<void> }> {
  const session = new Session();
  session.connect();
  context.after(() => session.disconnect());
  const attached = Promise.withResolvers<string>();
  const answers = new Map<number, () => void>();
  session.on("NodeWorker.attachedToWorker", ({ params }) => attached.resolve(params.sessionId));
  session.on("NodeWorker.receivedMessageFromWorker", ({ params }) => answers.get(JSON.parse(params.message).id)?.());
  await session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  const sessionId = await attached.promise;
  const evaluate = async (id: number, expression: string) => {
    const answered = new Promise<void>((resolve) => answers.set(id, resolve));
    const message = JSON.stringify({ id, method: "Runtime.evaluate", params: { expression } });
    await session.post("NodeWorker.sendMessageToWorker", { sessionId, message });
    return answered;
  };
  await evaluate(1, "1");
  return { over: evaluate(2, `{ const end = Date.now() + ${milliseconds}; while (Date.now() < end); }`) };
}
