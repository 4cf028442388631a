/**
 * Workers in threads of their own: several, or one with plugins that can be loaded again. All listen on the same
 * addresses; the kernel distributes connections among them. The control thread validates documents, sends the changes
 * and keeps the health of targets.
 */
import {
  changeBetween,
  emptySnapshot,
  NODE_ENDPOINT_ID,
  pluginNames,
  SettingsError,
  type Snapshot,
} from "@sluice/model/serving";
import type { EndpointRequest, EndpointResponse } from "@sluice/plugin-sdk";
import type { ResolvedTargets } from "../../balance/target-names.ts";
import type { MetricsPart } from "../../metrics/slices.ts";
import { mergeRefused } from "../../outbound/refused-destinations.ts";
import { pluginNumbered } from "../../plugin-services/phase-meter.ts";
import { noStapledResponses, type StapledResponses } from "../../proxy/listener/tls-listener.ts";
import { gatewaySettings as names } from "../../settings/commands/gateway.ts";
import {
  createHeartbeatMemory,
  HeartbeatMonitor,
  type HeartbeatOptions,
  pluginWordsOf,
} from "../../shared-memory/heartbeat.ts";
import { isAnsweredByOne } from "../endpoints/node-endpoints.ts";
import { ListenerPorts, ownPorts } from "../listener-ports.ts";
import type { StartWorkersOptions, Workers, WorkersReport } from "../workers.ts";
import { portFailureOf, requireFreePorts } from "./free-port.ts";
import type { ListenAddresses, SnapshotDelta } from "./messages.ts";
import { createNodeMemory, type NodeMemory, releaseWorkerMemory } from "./node-memory.ts";
import { PoolBalancers } from "./pool-balancers.ts";
import { addConnections, RetiredThreads } from "./retired-threads.ts";
import { WorkerThread } from "./worker-thread.ts";

/** Milliseconds. A thread that ends after running this long is restarted at once; its earlier failures do not count. */
const HEALTHY_LIFETIME = 10_000;
/**
 * Milliseconds before the restart after a second failure in a row. Doubled with each further failure, up to the
 * maximum.
 */
const MIN_RESTART_DELAY = 100;
const MAX_RESTART_DELAY = 10_000;

/**
 * In a pool whose plugins can be loaded again, the maximum number of threads as a multiple of the workers: the threads
 * that serve, and two generations of replaced threads that drain. A further reload waits until enough of these have
 * ended.
 */
const GENERATIONS = 3;
/** The number of a thread is one byte in the memory of shared counters; 0 is the control thread. */
const MAX_THREADS = 255;

/** A pool whose threads can be inspected one by one. */
export interface WorkerPool extends Workers {
  threads(): readonly WorkerThread[];
  metricParts(): Promise<AsyncIterable<MetricsPart>>;
}

/** This system cannot distribute the connections to one address among several sockets. */
export class CannotShareAddress extends SettingsError {
  constructor() {
    super(`${names.workers.variable}: this system cannot share an address among threads; set it to 1`);
  }
}

/** Rejects when an address cannot be listened on, with CannotShareAddress if only one thread could listen on it. */
export async function startWorkerPool(count: number, options: StartWorkersOptions): Promise<WorkerPool> {
  const { plan } = options;
  // With reusePort, a second process or listener on the same address would get a share of the connections instead of an
  // error.
  await requireFreePorts([plan.listen, plan.listenTls, ...plan.listenStreams].filter((address) => address !== null));
  const pool = new ThreadPool(count, options);
  try {
    await pool.start();
  } catch (error) {
    await pool.end();
    throw (error as { readonly code?: string }).code === "ENOTSUP" ? new CannotShareAddress() : error;
  }
  return pool;
}

class ThreadPool implements WorkerPool {
  readonly #options: StartWorkersOptions;
  readonly #memory: NodeMemory;
  readonly #heartbeat: HeartbeatOptions;
  readonly #heartbeats: HeartbeatMonitor;
  /** By number: the threads that start or serve, and replaced threads that drain. */
  readonly #threads = new Map<number, WorkerThread>();
  readonly #draining = new Set<WorkerThread>();
  readonly #count: number;
  readonly #capacity: number;
  #plugins: readonly string[];
  readonly #retired = new RetiredThreads();
  readonly #restartTimers = new Map<number, NodeJS.Timeout>();
  #addresses: ListenAddresses | undefined;
  readonly #listenerPorts: ListenerPorts;
  readonly #balancers: PoolBalancers;
  #stapled = noStapledResponses;
  #wanted: Snapshot = emptySnapshot;
  #isConfigured = false;
  #ending = false;

  constructor(count: number, options: StartWorkersOptions) {
    this.#options = options;
    this.#count = count;
    this.#plugins = options.plan.plugins;
    this.#capacity = this.#plugins.length === 0 ? count : Math.min(count * GENERATIONS, MAX_THREADS);
    this.#memory = createNodeMemory(this.#capacity, options.plan.settings);
    this.#heartbeat = { beats: createHeartbeatMemory(this.#capacity), timeout: options.workerTimeout };
    this.#listenerPorts = new ListenerPorts({
      check: (port) => portFailureOf({ host: this.address.host, port }),
      open: async (ports) => (await Promise.all(this.#active().map((thread) => thread.openPorts(ports)))).flat(),
      ownPorts: () => ownPorts(options.plan.settings, this),
      log: options.log,
    });
    this.#balancers = new PoolBalancers({
      zone: options.plan.settings.zone,
      onHealthTransition: options.onHealthTransition,
      onHealthUpdate: (news) => {
        for (const thread of this.threads()) thread.adoptHealth(news);
        options.onHealthUpdate?.(news);
      },
    });
    this.#heartbeats = new HeartbeatMonitor(this.#heartbeat, (number) => {
      const plugin = pluginNumbered(pluginNames(), Atomics.load(pluginWordsOf(this.#heartbeat, number).running, 0));
      const cause = plugin === undefined ? "" : ` by the plugin ${plugin}`;
      const reason = new Error(`its event loop has been blocked for ${options.workerTimeout} ms${cause}`);
      void this.#threads.get(number)?.terminate(reason);
    });
  }

  get address() {
    return this.#started.address;
  }

  get tlsAddress() {
    return this.#started.tlsAddress;
  }

  get streamAddresses() {
    return this.#started.streamAddresses;
  }

  get #started(): ListenAddresses {
    if (this.#addresses === undefined) throw new Error("the worker pool has not started");
    return this.#addresses;
  }

  threads = (): readonly WorkerThread[] => [...this.#threads.values()];

  /** Ports that the system chooses for the first thread (port 0) are used by all threads. */
  async start(): Promise<void> {
    this.#addresses = await this.#startThread(1, 0).started;
    await Promise.all(Array.from({ length: this.#count - 1 }, (_, index) => this.#startThread(index + 2, 0).started));
  }

  async readyToReload(): Promise<void> {
    if (this.#capacity < 2 * this.#count) {
      const most = Math.floor(MAX_THREADS / 2);
      throw new SettingsError(
        this.#plugins.length === 0
          ? "there are no plugins to load again: no setting names any"
          : `${names.workers.variable} is ${this.#count}: plugins can be loaded again with at most ${most} workers; restart the node`,
      );
    }
    while (this.#freeNumbers().length < this.#count)
      await Promise.race([...this.#draining].map((thread) => thread.ended));
  }

  async reload(plugins: readonly string[], snapshot: Snapshot): Promise<void> {
    // Once the pool is being closed, new threads would keep the process alive.
    if (this.#ending) throw new SettingsError("the node is being stopped");
    const [pluginsBefore, before] = [this.#plugins, this.#wanted];
    this.#plugins = plugins;
    this.#wanted = snapshot;
    const starting = this.#freeNumbers()
      .slice(0, this.#count)
      .map((number) => this.#startThread(number, null));
    try {
      await Promise.all(starting.map(({ started }) => started));
    } catch (error) {
      this.#plugins = pluginsBefore;
      this.#wanted = before;
      await Promise.all(starting.map((thread) => thread.terminate()));
      // A worker that was restarted during the reload serves the new snapshot and must return to the previous one.
      await this.#serveEverywhere(before);
      throw error;
    }
    // The new workers also replace workers that wait for their restart, or were restarted during the reload.
    this.#cancelRestarts();
    const old = this.#active().filter((thread) => !starting.includes(thread));
    for (const thread of old) this.#draining.add(thread);
    // First all old workers stop accepting connections, and only then announce the end of open ones. So a client that
    // connects again reaches a new worker, and never an old one that is about to close its socket.
    await Promise.all(old.map((thread) => thread.stopAccepting()));
    for (const thread of old) void thread.close({ deadline: this.#options.plan.settings.drain, keepIdle: true });
  }

  async serve(snapshot: Snapshot): Promise<void> {
    const before = this.#wanted;
    this.#wanted = snapshot;
    this.#isConfigured = true;
    this.#balancers.use(snapshot);
    const error = await this.#serveEverywhere(snapshot);
    if (error === null) return this.#listenerPorts.openListeners(snapshot.listeners);
    this.#wanted = before;
    this.#balancers.use(before);
    await this.#serveEverywhere(before);
    throw error;
  }

  failedListeners = () => this.#listenerPorts.failed;

  balancers = () => this.#balancers.all;

  adoptAddresses(resolved: ResolvedTargets): void {
    this.#balancers.adoptAddresses(resolved);
    for (const thread of this.threads()) thread.adoptAddresses(resolved);
  }

  adoptStapledResponses(responses: StapledResponses): void {
    this.#stapled = responses;
    for (const thread of this.threads()) thread.adoptStapledResponses(responses);
  }

  async report(): Promise<WorkersReport> {
    await Promise.all(this.threads().map((thread) => thread.refreshReport()));
    const reports = this.threads().flatMap(({ report }) => report ?? []);
    return {
      workers: { configured: this.#count, running: this.#listening().length },
      connections: addConnections([this.#retired.connections, ...reports.map(({ connections }) => connections)]),
      heap: {
        total: reports.reduce((sum, { heap }) => sum + heap.total, 0),
        used: reports.reduce((sum, { heap }) => sum + heap.used, 0),
        clients: reports.reduce((sum, { heap }) => sum + heap.clients, 0),
      },
      refused: mergeRefused(reports.map(({ refused }) => refused)),
    };
  }

  async askPlugin(pluginId: string, request: EndpointRequest): Promise<readonly EndpointResponse[]> {
    if (pluginId === NODE_ENDPOINT_ID && isAnsweredByOne(request)) return this.#askAny(request);
    const responses = await Promise.all(this.threads().map((thread) => thread.askPlugin(pluginId, request)));
    return responses.filter((response) => response !== null);
  }

  /**
   * The response of one worker, because all of them serve the same configuration. No other worker is asked after a
   * failure: a request that stops one worker would stop the others too.
   */
  async #askAny(request: EndpointRequest): Promise<readonly EndpointResponse[]> {
    for (const thread of this.#listening()) {
      const response = await thread.askPlugin(NODE_ENDPOINT_ID, request);
      return response === null ? [] : [response];
    }
    return [{ status: 503, body: { message: "no worker is running" } }];
  }

  async metricParts(): Promise<AsyncIterable<MetricsPart>> {
    await Promise.all(this.threads().map((thread) => thread.refreshMetrics()));
    return this.#retired.partsWith(this.threads);
  }

  unavailableReason(): string | null {
    return this.#listening().length === 0 ? "no worker is running" : null;
  }

  reopenLogs(): void {
    for (const thread of this.threads()) thread.reopenLogs();
  }

  setLogLevel(level: string): void {
    for (const thread of this.threads()) thread.setLogLevel(level);
  }

  async close(options: { readonly deadline: number }): Promise<void> {
    this.#stopStarting();
    await Promise.all(this.threads().map((thread) => thread.close(options)));
    await Promise.all(Object.values(this.#options.controlCounters).map((counters) => counters.close()));
  }

  async end(): Promise<void> {
    this.#stopStarting();
    await Promise.all(this.threads().map((thread) => thread.terminate()));
  }

  #stopStarting(): void {
    this.#ending = true;
    this.#heartbeats.close();
    this.#listenerPorts.close();
    this.#cancelRestarts();
  }

  #cancelRestarts(): void {
    for (const timer of this.#restartTimers.values()) clearTimeout(timer);
    this.#restartTimers.clear();
  }

  #active = (): readonly WorkerThread[] => this.threads().filter((thread) => !this.#draining.has(thread));

  #listening = (): readonly WorkerThread[] => this.#active().filter(({ isListening }) => isListening);

  #freeNumbers(): readonly number[] {
    const all = Array.from({ length: this.#capacity }, (_, index) => index + 1);
    return all.filter((number) => !this.#threads.has(number) && !this.#restartTimers.has(number));
  }

  /**
   * @param failures How often in a row the thread of this number has ended; an end after HEALTHY_LIFETIME counts as the
   * first. Null: if the thread cannot start, it is not started again
   */
  #startThread(number: number, failures: number | null): WorkerThread {
    const began = performance.now();
    const { log, isTextLog: isText } = this.#options;
    const thread = new WorkerThread({
      start: {
        number,
        plan: this.#plan(),
        memory: this.#memory,
        heartbeat: this.#heartbeat,
        metrics: this.#options.metricsOptions,
        logging: { level: log.level, isText, bindings: log.bindings() },
        hasClusterCounters: this.#options.controlCounters.cluster !== undefined,
        leases: this.#options.controlCounters.fleet?.memory ?? null,
        document: deltaBetween(emptySnapshot, this.#wanted),
        isConfigured: this.#isConfigured,
        ports: this.#listenerPorts.open,
        resolvedTargets: this.#balancers.resolvedTargets,
        stapledResponses: this.#stapled,
        health: this.#balancers.health(),
      },
      snapshot: this.#wanted,
      onHealthUpdate: (news) => {
        const actual = this.#balancers.reportHealth(news);
        if (actual !== null) thread.adoptHealth(actual);
      },
      controlCounters: this.#options.controlCounters,
    });
    this.#threads.set(number, thread);
    let hasStarted = failures !== null;
    thread.started
      .then(() => {
        hasStarted = true;
        this.#heartbeats.watch(number);
      })
      .catch(() => undefined);
    void thread.ended.then((reason) => {
      this.#threads.delete(number);
      this.#heartbeats.unwatch(number);
      this.#retired.add(thread.report, thread.parts);
      releaseWorkerMemory(this.#memory, number);
      if (this.#draining.delete(thread) || this.#ending || !hasStarted) return;
      const again = performance.now() - began < HEALTHY_LIFETIME ? (failures ?? 0) + 1 : 1;
      const pause = again === 1 ? 0 : Math.min(MIN_RESTART_DELAY * 2 ** (again - 2), MAX_RESTART_DELAY);
      const facts = { err: reason, worker: number, pause, running: this.#listening().length, configured: this.#count };
      const what = thread.isListening
        ? "a worker has ended and is started again"
        : "a worker cannot start; the node tries again";
      log.error(facts, what);
      this.#restartTimers.set(
        number,
        setTimeout(() => {
          this.#restartTimers.delete(number);
          this.#startThread(number, again);
        }, pause),
      );
    });
    return thread;
  }

  #plan(): StartWorkersOptions["plan"] {
    const plan = { ...this.#options.plan, plugins: this.#plugins };
    if (this.#addresses === undefined) return plan;
    const { address: listen, tlsAddress: listenTls, streamAddresses: listenStreams } = this.#addresses;
    return { ...plan, listen, listenTls, listenStreams };
  }

  /** Resolves to the first error; to null when every thread serves the snapshot or has ended. */
  async #serveEverywhere(snapshot: Snapshot): Promise<Error | null> {
    // As a rule all threads need the same delta. It is not kept after this call: it may hold the whole old and new
    // configuration.
    let last: { readonly from: Snapshot; readonly step: SnapshotDelta } | null = null;
    const stepFrom = (from: Snapshot): SnapshotDelta => {
      if (last?.from !== from) last = { from, step: deltaBetween(from, snapshot) };
      return last.step;
    };
    const errors = await Promise.all(this.threads().map((thread) => thread.serve(snapshot, stepFrom)));
    return errors.find((error) => error !== null) ?? null;
  }
}

const deltaBetween = (from: Snapshot, to: Snapshot): SnapshotDelta => ({
  change: changeBetween(from, to),
  hash: to.hash,
});
