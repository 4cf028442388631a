/** The control thread's side of one worker's thread. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Snapshot } from "@sluice/model";
import type { MetricObject } from "prom-client";
import type { HealthUpdate } from "../balance/balancer.ts";
import type { Part } from "../plugins/prometheus/slices.ts";
import type { Counter, Counters } from "../plugins/rate-limiting/counters.ts";
import type { ListenAddress } from "../proxy/settings.ts";
import { Answers } from "./answers.ts";
import { errorOf, type Order, type Step, type ThreadReport, type ThreadStart, type Word } from "./messages.ts";

export interface ThreadOptions {
  readonly start: ThreadStart;
  /** What the thread begins with. */
  readonly snapshot: Snapshot;
  readonly onHealthUpdate: (news: HealthUpdate) => void;
  readonly clusterCounters: Counters | undefined;
}

export interface Addresses {
  readonly address: ListenAddress;
  readonly tlsAddress: ListenAddress | null;
}

/** Milliseconds that a thread may be silent when it is to report; then it is told of by its last report. */
const REPORT_PATIENCE = 1000;

/**
 * Megabytes of a thread's young generation, which V8 cuts in three: halves of 8 MB, as in the command's first line. A
 * first line that begins with more (`--min-semi-space-size`) takes this limit away from threads, too.
 */
const YOUNG = 24;

export class ThreadHandle {
  /** Resolves when it listens. */
  readonly started: Promise<Addresses>;
  /** Resolves when it is no more, with why. */
  readonly ended: Promise<Error>;
  /** Its `nodejs_*`, as it last told; empty before the first time. */
  runtime: readonly MetricObject[] = [];
  /** The last report; null before the first. */
  report: ThreadReport | null = null;
  /** What it had counted when it was last asked. */
  parts: readonly Part[] = [];
  #counted: Part[] = [];
  readonly #options: Pick<ThreadOptions, "onHealthUpdate" | "clusterCounters">;
  readonly #worker: Worker;
  readonly #began = Promise.withResolvers<Addresses>();
  readonly #closed = Promise.withResolvers<void>();
  #has: Snapshot;
  /** Why it ends. */
  #cause: Error | undefined;
  /** Whoever waits until the thread serves what it was told to, or has said why it does not. */
  #served: ((error: Error | null) => void) | null = null;
  readonly #reports: Answers;
  readonly #counts: Answers;

  constructor({ start, snapshot, ...options }: ThreadOptions) {
    this.#options = options;
    this.#has = snapshot;
    this.#worker = new Worker(new URL(`./thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: start,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG },
    });
    this.#reports = new Answers(() => this.#tell({ kind: "report" }), REPORT_PATIENCE);
    this.#counts = new Answers(() => this.#tell({ kind: "count" }), REPORT_PATIENCE);
    this.started = this.#began.promise;
    // Not everybody who makes one waits for it.
    this.started.catch(() => undefined);
    this.ended = new Promise((resolve) => {
      this.#worker.on("error", (error) => {
        this.#cause ??= error instanceof Error ? error : new Error(String(error));
      });
      this.#worker.once("exit", (code) => {
        const reason = this.#cause ?? new Error(`the thread ended with code ${code}`);
        this.#began.reject(reason);
        this.#served?.(null);
        this.#reports.arrive();
        this.#counts.arrive();
        this.#closed.resolve();
        resolve(reason);
      });
    });
    this.#worker.on("message", (word: Word) => this.#hear(word));
  }

  /**
   * Resolves to null once the thread serves the snapshot, or is no more; to the error when it cannot. One after the
   * other.
   *
   * @param stepFrom From what the thread has to the snapshot.
   */
  async follow(snapshot: Snapshot, stepFrom: (before: Snapshot) => Step): Promise<Error | null> {
    if (this.#has === snapshot) return null;
    const served = new Promise<Error | null>((resolve) => {
      this.#served = resolve;
    });
    this.#tell({ kind: "serve", step: stepFrom(this.#has) });
    const error = await Promise.race([served, this.ended.then(() => null)]);
    if (error === null) this.#has = snapshot;
    return error;
  }

  adopt(news: HealthUpdate): void {
    this.#tell({ kind: "health", news });
  }

  reopenLogs(): void {
    this.#tell({ kind: "reopen" });
  }

  /** Resolves when `report` is fresh, or the thread has no time to report. */
  askReport(): Promise<void> {
    return this.#reports.ask();
  }

  /** The same for `parts`. */
  askCount(): Promise<void> {
    return this.#counts.ask();
  }

  /** Drains; a thread that does not end by itself soon after the deadline is ended. */
  async close({ deadline }: { readonly deadline: number }): Promise<void> {
    this.#tell({ kind: "close", deadline });
    const timer = setTimeout(() => this.#closed.resolve(), deadline + REPORT_PATIENCE);
    await this.#closed.promise;
    clearTimeout(timer);
    await this.terminate();
  }

  /** Ends it at once. @param reason That `ended` tells; default: none but that it has ended */
  async terminate(reason?: Error): Promise<void> {
    this.#cause ??= reason;
    await this.#worker.terminate();
  }

  #tell(order: Order): void {
    this.#worker.postMessage(order);
  }

  #hear(word: Word): void {
    switch (word.kind) {
      case "listening":
        this.#began.resolve(word);
        return;
      case "refused":
        this.#began.reject(errorOf(word.error));
        return;
      case "served":
        this.#served?.(null);
        return;
      case "failed":
        this.#served?.(errorOf(word.error));
        return;
      case "health":
        this.#options.onHealthUpdate(word.news);
        return;
      case "report":
        this.report = word.report;
        this.#reports.arrive();
        return;
      case "part":
        this.#counted.push(word.part);
        this.#counts.sign();
        return;
      case "counted":
        this.parts = this.#counted;
        this.runtime = word.runtime;
        this.#counted = [];
        this.#counts.arrive();
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
      this.#tell({ kind: "taken", id, taken: await clusterCounters.take(counters, config) });
    } catch (error) {
      this.#tell({ kind: "untaken", id, message: error instanceof Error ? error.message : String(error) });
    }
  }
}
