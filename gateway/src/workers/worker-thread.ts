/** The control thread's side of one worker's thread. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Snapshot } from "@sluice/model";
import type { HealthUpdate } from "../balance/balancer.ts";
import type { Counter, Counters } from "../counters/counters.ts";
import type { MetricsPart } from "../metrics/slices.ts";
import type { ListenAddress } from "../proxy/settings.ts";
import {
  type ControlMessage,
  deserializeError,
  type SnapshotDelta,
  type WorkerMessage,
  type WorkerThreadData,
  type WorkerThreadReport,
} from "./messages.ts";
import { PendingReport } from "./pending-report.ts";

export interface WorkerThreadOptions {
  readonly start: WorkerThreadData;
  /** The initial data of the thread. */
  readonly snapshot: Snapshot;
  readonly onHealthUpdate: (news: HealthUpdate) => void;
  readonly clusterCounters: Counters | undefined;
}

export interface ListenAddresses {
  readonly address: ListenAddress;
  readonly tlsAddress: ListenAddress | null;
}

/** Milliseconds that a thread may take to report; after that its last report is used. */
const REPORT_TIMEOUT = 1000;

/**
 * Megabytes of a thread's young generation. V8 divides it in three, so the semi-spaces have 8 MB, as in the first line
 * of the command. A larger `--min-semi-space-size` in that line would override this limit for threads, too.
 */
const YOUNG_GENERATION_MB = 24;

export class WorkerThread {
  /** Resolves when the worker listens. */
  readonly started: Promise<ListenAddresses>;
  /** Resolves with the reason when the thread has ended. */
  readonly ended: Promise<Error>;
  /** Its `nodejs_*` metrics as last reported; empty before the first report. */
  runtime: readonly MetricsPart[] = [];
  /** The last report; null before the first. */
  report: WorkerThreadReport | null = null;
  /** Its counts as of the last request. */
  parts: readonly MetricsPart[] = [];
  #counted: MetricsPart[] = [];
  readonly #options: Pick<WorkerThreadOptions, "onHealthUpdate" | "clusterCounters">;
  readonly #worker: Worker;
  readonly #listening = Promise.withResolvers<ListenAddresses>();
  readonly #closed = Promise.withResolvers<void>();
  #current: Snapshot;
  /** The reason for its end. */
  #cause: Error | undefined;
  /** The pending `serve` call: resolved when the thread serves the snapshot or reports why it cannot. */
  #served: ((error: Error | null) => void) | null = null;
  readonly #reports: PendingReport;
  readonly #counts: PendingReport;

  constructor({ start, snapshot, ...options }: WorkerThreadOptions) {
    this.#options = options;
    this.#current = snapshot;
    this.#worker = new Worker(new URL(`./worker-thread-main${extname(import.meta.url)}`, import.meta.url), {
      workerData: start,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    this.#reports = new PendingReport(() => this.#post({ kind: "report" }), REPORT_TIMEOUT);
    this.#counts = new PendingReport(() => this.#post({ kind: "count" }), REPORT_TIMEOUT);
    this.started = this.#listening.promise;
    // Not every caller awaits `started`.
    this.started.catch(() => undefined);
    this.ended = new Promise((resolve) => {
      this.#worker.on("error", (error) => {
        this.#cause ??= error instanceof Error ? error : new Error(String(error));
      });
      this.#worker.once("exit", (code) => {
        const reason = this.#cause ?? new Error(`the thread ended with code ${code}`);
        this.#listening.reject(reason);
        this.#served?.(null);
        this.#reports.complete();
        this.#counts.complete();
        this.#closed.resolve();
        resolve(reason);
      });
    });
    this.#worker.on("message", (word: WorkerMessage) => this.#onMessage(word));
  }

  /**
   * Resolves to null once the thread serves the snapshot, or has ended; to the error if it cannot serve it. One call at
   * a time.
   *
   * @param stepFrom Computes the delta from the thread's snapshot to the new one.
   */
  async serve(snapshot: Snapshot, stepFrom: (before: Snapshot) => SnapshotDelta): Promise<Error | null> {
    if (this.#current === snapshot) return null;
    const served = new Promise<Error | null>((resolve) => {
      this.#served = resolve;
    });
    this.#post({ kind: "serve", step: stepFrom(this.#current) });
    const error = await Promise.race([served, this.ended.then(() => null)]);
    if (error === null) this.#current = snapshot;
    return error;
  }

  adoptHealth(news: HealthUpdate): void {
    this.#post({ kind: "health", news });
  }

  reopenLogs(): void {
    this.#post({ kind: "reopen" });
  }

  /** Resolves when `report` is fresh, or when the thread does not answer in time. */
  refreshReport(): Promise<void> {
    return this.#reports.request();
  }

  /** The same for `parts`. */
  refreshMetrics(): Promise<void> {
    return this.#counts.request();
  }

  /** Drains; a thread that does not end soon after the deadline is terminated. */
  async close({ deadline }: { readonly deadline: number }): Promise<void> {
    this.#post({ kind: "close", deadline });
    const timer = setTimeout(() => this.#closed.resolve(), deadline + REPORT_TIMEOUT);
    await this.#closed.promise;
    clearTimeout(timer);
    await this.terminate();
  }

  /** Ends the thread at once. @param reason The error of `ended`; default: a general message */
  async terminate(reason?: Error): Promise<void> {
    this.#cause ??= reason;
    await this.#worker.terminate();
  }

  #post(order: ControlMessage): void {
    this.#worker.postMessage(order);
  }

  #onMessage(word: WorkerMessage): void {
    switch (word.kind) {
      case "listening":
        this.#listening.resolve(word);
        return;
      case "refused":
        this.#listening.reject(deserializeError(word.error));
        return;
      case "served":
        this.#served?.(null);
        return;
      case "failed":
        this.#served?.(deserializeError(word.error));
        return;
      case "health":
        this.#options.onHealthUpdate(word.news);
        return;
      case "report":
        this.report = word.report;
        this.#reports.complete();
        return;
      case "part":
        this.#counted.push(word.part);
        this.#counts.markProgress();
        return;
      case "counted":
        this.parts = this.#counted;
        this.runtime = word.runtime;
        this.#counted = [];
        this.#counts.complete();
        return;
      case "take":
        void this.#take(word.id, word.counters, word.config);
        return;
      case "closed":
        this.#closed.resolve();
    }
  }

  async #take(id: number, counters: readonly Counter[], config: Parameters<Counters["take"]>[1]): Promise<void> {
    try {
      const { clusterCounters } = this.#options;
      if (clusterCounters === undefined) throw new Error("policy cluster needs the database mode");
      this.#post({ kind: "taken", id, taken: await clusterCounters.take(counters, config) });
    } catch (error) {
      this.#post({ kind: "untaken", id, message: error instanceof Error ? error.message : String(error) });
    }
  }
}
