/** A worker thread, as the control thread sees and controls it. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Snapshot } from "@sluice/model";
import type { EndpointRequest, EndpointResponse, WindowCounters } from "@sluice/plugin-sdk";
import type { HealthUpdate } from "../../balance/balancer.ts";
import type { ResolvedTargets } from "../../balance/target-names.ts";
import type { LeasingCounters } from "../../counters/fleet/lessee/worker-leases.ts";
import type { MetricsPart } from "../../metrics/slices.ts";
import { instanceLimits } from "../../plugin-services/plugin-instance.ts";
import type { CloseOptions } from "../../proxy/engine.ts";
import type { DocumentPort, PortFailure } from "../../proxy/listener/document-ports.ts";
import type { StapledResponses } from "../../proxy/listener/tls-listener.ts";
import type { ControlCounters, WorkerReport } from "../workers.ts";
import type {
  ControlFunctions,
  ListenAddresses,
  SnapshotDelta,
  WorkerFunctions,
  WorkerThreadData,
} from "./messages.ts";
import { answerInTime, ThreadCalls } from "./thread-calls.ts";

export interface WorkerThreadOptions {
  readonly start: WorkerThreadData;
  /** The snapshot that `start.document` results in. */
  readonly snapshot: Snapshot;
  readonly onHealthUpdate: (news: HealthUpdate) => void;
  readonly controlCounters: ControlCounters;
}

/** Milliseconds that a thread may take to report; after that its last report is used. */
const REPORT_TIMEOUT = 1000;
/** Milliseconds that a thread may take to answer a request to an endpoint of a plugin. */
const ENDPOINT_TIMEOUT = 5000;
/** Milliseconds that a thread has after the deadline of its requests, to stop its plugin instances. */
const CLOSE_TIMEOUT = instanceLimits.stop + 1000;

/**
 * Megabytes of a thread's young generation. V8 divides it in three, so each semi-space has 8 MB, as in the first line
 * of main.ts. A larger `--min-semi-space-size` in that line would override this limit for threads, too.
 */
const YOUNG_GENERATION_MB = 24;

function clusterOf({ cluster }: ControlCounters): WindowCounters {
  if (cluster === undefined) throw new Error("policy cluster needs the database mode");
  return cluster;
}

function fleetOf({ fleet }: ControlCounters): LeasingCounters {
  if (fleet === undefined) throw new Error("this node belongs to no fleet");
  return fleet;
}

export class WorkerThread {
  /** Resolves to the addresses once the worker listens; rejects if it cannot start. */
  readonly started: Promise<ListenAddresses>;
  /** Whether the worker has begun to listen. */
  isListening = false;
  /** Resolves with the reason when the thread has ended. */
  readonly ended: Promise<Error>;
  /** The thread's `nodejs_*` metrics as last reported; empty before the first report. */
  runtime: readonly MetricsPart[] = [];
  /** The last report; null before the first. */
  report: WorkerReport | null = null;
  /** The thread's counts as last reported; empty before the first report. */
  parts: readonly MetricsPart[] = [];
  readonly #worker: Worker;
  readonly #calls: ThreadCalls<WorkerFunctions>;
  #current: Snapshot;
  /** Whether the thread has been told that a document, which may be empty, has arrived. */
  #isConfigured: boolean;
  #cause: Error | undefined;
  #hasEnded = false;
  #refreshing: Promise<void> | null = null;

  constructor({ start, snapshot, onHealthUpdate, controlCounters }: WorkerThreadOptions) {
    this.#current = snapshot;
    this.#isConfigured = start.isConfigured;
    this.#worker = new Worker(new URL(`./worker-thread-main${extname(import.meta.url)}`, import.meta.url), {
      workerData: start,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    this.#calls = new ThreadCalls(this.#worker);
    const functions: ControlFunctions = {
      reportHealth: onHealthUpdate,
      incrementBelowLimit: (counters, options) => clusterOf(controlCounters).incrementBelowLimit(counters, options),
      addAmount: (counters, amount, options) =>
        (options.policy === "fleet" ? fleetOf : clusterOf)(controlCounters).addAmount(counters, amount, options),
      takeForWorker: (counters, options) => fleetOf(controlCounters).takeForWorker(counters, options),
      refill: (counter) => fleetOf(controlCounters).refill(counter),
    };
    this.#calls.listen(functions);
    this.started = this.#calls.call("started");
    this.started.then(
      () => {
        this.isListening = true;
      },
      // A thread that cannot start still answers calls. If it were not terminated, no other thread would replace it.
      (error: Error) => this.terminate(error),
    );
    this.ended = new Promise((resolve) => {
      this.#worker.on("error", (error) => {
        this.#cause ??= error instanceof Error ? error : new Error(String(error));
      });
      this.#worker.once("exit", (code) => {
        const reason = this.#cause ?? new Error(`the thread ended with code ${code}`);
        this.#hasEnded = true;
        this.#calls.end(reason);
        resolve(reason);
      });
    });
  }

  /**
   * Resolves to null once the thread serves the snapshot, or has ended; to the error if the thread cannot serve the
   * snapshot. Must not be called before the previous call has ended.
   *
   * @param stepFrom Computes the delta from the thread's snapshot to the new one.
   */
  async serve(snapshot: Snapshot, stepFrom: (before: Snapshot) => SnapshotDelta): Promise<Error | null> {
    if (this.#current === snapshot && this.#isConfigured) return null;
    try {
      await this.#calls.call("serve", stepFrom(this.#current));
      this.#current = snapshot;
      this.#isConfigured = true;
      return null;
    } catch (error) {
      return this.#hasEnded ? null : (error as Error);
    }
  }

  /** Resolves to the ports that the thread cannot open; to none if the thread has ended. */
  async openPorts(ports: readonly DocumentPort[]): Promise<readonly PortFailure[]> {
    return this.#calls.call("openPorts", ports).catch(() => []);
  }

  adoptHealth(news: HealthUpdate): void {
    this.#calls.send("adoptHealth", news);
  }

  adoptAddresses(resolved: ResolvedTargets): void {
    this.#calls.send("adoptAddresses", resolved);
  }

  adoptStapledResponses(responses: StapledResponses): void {
    this.#calls.send("adoptStapledResponses", responses);
  }

  reopenLogs(): void {
    this.#calls.send("reopenLogs");
  }

  setLogLevel(level: string): void {
    this.#calls.send("setLogLevel", level);
  }

  /**
   * Resolves to null if the thread has no such plugin instance or endpoint; to a response with status 503 if the thread
   * does not answer in time, or has ended.
   */
  async askPlugin(pluginId: string, request: EndpointRequest): Promise<EndpointResponse | null> {
    const response = await answerInTime(this.#calls.call("askPlugin", pluginId, request), ENDPOINT_TIMEOUT);
    return response === undefined ? { status: 503, body: { message: "a worker did not answer in time" } } : response;
  }

  /** Resolves when `report` is fresh, or when the thread does not answer in time. */
  async refreshReport(): Promise<void> {
    this.report = (await answerInTime(this.#calls.call("report"), REPORT_TIMEOUT)) ?? this.report;
  }

  /** Resolves when `parts` and `runtime` are fresh, or when the thread does not answer in time. */
  refreshMetrics(): Promise<void> {
    this.#refreshing ??= this.#readMetrics().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  async #readMetrics(): Promise<void> {
    const parts: MetricsPart[] = [];
    for (;;) {
      const part = await answerInTime(this.#calls.call("nextPart", parts.length === 0), REPORT_TIMEOUT);
      if (part === undefined) return;
      if (part === null) break;
      parts.push(part);
    }
    this.parts = parts;
    this.runtime = (await answerInTime(this.#calls.call("runtimeMetrics"), REPORT_TIMEOUT)) ?? this.runtime;
  }

  /** Resolves when the thread accepts no more connections, or does not answer in time. */
  async stopAccepting(): Promise<void> {
    await answerInTime(this.#calls.call("stopAccepting"), REPORT_TIMEOUT);
  }

  /**
   * Drains the worker, reads its last counts, and then terminates the thread: soon after the deadline at the latest.
   */
  async close({ deadline, keepIdle = false }: CloseOptions & { readonly deadline: number }): Promise<void> {
    const closed = this.#calls.call("close", { deadline, keepIdle }).then(() => true);
    if (await answerInTime(closed, deadline + CLOSE_TIMEOUT)) {
      // A reading that began earlier lacks the last requests.
      await this.#refreshing;
      await Promise.all([this.refreshReport(), this.refreshMetrics()]);
    }
    await this.terminate();
  }

  /** Ends the thread at once. @param reason The error of `ended`; default: a general message */
  async terminate(reason?: Error): Promise<void> {
    this.#cause ??= reason;
    await this.#worker.terminate();
  }
}
