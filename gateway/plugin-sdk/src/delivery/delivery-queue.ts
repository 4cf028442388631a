import type { TransientBytes } from "../exchange/exchange.ts";
import type { PluginContext } from "../plugin.ts";
import type { CounterMetric, CounterMetricOptions, PluginTimer } from "../services/instance.ts";
import { type DeliveryBatch, EntryMemory, StoredBatch, type StoredEntry, storeAlone } from "./entry-memory.ts";
import { DEFAULT_MAX_BYTES, type QueueSettings } from "./queue-settings.ts";

export interface DeliveryQueueOptions {
  readonly settings: QueueSettings;
  readonly context: Pick<PluginContext, "log" | "timers" | "counterMetric">;
  /** Sends a batch. After a rejection it is called again with the same batch, or the whole batch is dropped. */
  deliver(batch: DeliveryBatch): Promise<void>;
}

/** Why an entry was dropped: the values of the label `reason` of the metric `dropped_entries_total`. */
type DropReason = "full" | "too_large" | "undelivered" | "stopped";

/** The metric of each plugin with a queue. */
export const droppedEntries: CounterMetricOptions = {
  name: "dropped_entries_total",
  help: "Log records, spans and metrics that the plugin did not deliver, by reason",
  labelNames: ["reason"],
};

/**
 * A queue of entries that are delivered in batches, with retries. Its memory is bounded: above its limits the oldest
 * entries are dropped, or the new entry if the concurrency is unlimited. The first drop and the first failure are
 * logged; further ones are not logged until a delivery has succeeded. The owner must call `close` when it stops.
 */
export class DeliveryQueue {
  readonly #settings: QueueSettings;
  readonly #maxBytes: number;
  readonly #context: DeliveryQueueOptions["context"];
  readonly #deliver: DeliveryQueueOptions["deliver"];
  readonly #waiting = new EntryMemory();
  /** Bytes of the entries that are being delivered if the concurrency is unlimited. */
  #aloneBytes = 0;
  /** Deliveries in progress if the concurrency is unlimited. */
  readonly #alone = new Set<Promise<void>>();
  #coalescing: PluginTimer | null = null;
  /** The loop that `#begin` has started; null: none is running. */
  #delivering: Promise<void> | null = null;
  /** Functions that each end a pause between two attempts. */
  readonly #pauses = new Set<() => void>();
  #isClosing = false;
  #isFailing = false;
  #droppedSinceDelivery = 0;
  #dropped: CounterMetric | null = null;

  constructor({ settings, context, deliver }: DeliveryQueueOptions) {
    this.#settings = settings;
    this.#maxBytes = settings.max_bytes ?? DEFAULT_MAX_BYTES;
    this.#context = context;
    this.#deliver = deliver;
  }

  /** Adds an entry, which is copied. */
  add(entry: string | TransientBytes): void {
    const bytes = typeof entry === "string" ? Buffer.byteLength(entry) : entry.length;
    if (this.#isClosing) this.#drop(1, "stopped");
    else if (bytes > this.#maxBytes) this.#drop(1, "too_large");
    else if (this.#settings.concurrency_limit === -1) this.#deliverAlone(entry, bytes);
    else this.#enqueue(entry, bytes);
  }

  /** Makes one last attempt for each remaining batch, without delays. Resolves when all are delivered or dropped. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#coalescing?.cancel();
    for (const end of this.#pauses) end();
    await Promise.all([this.#delivering, ...this.#alone]);
    await this.#deliverBatches();
  }

  #enqueue(entry: string | TransientBytes, bytes: number): void {
    const waiting = this.#waiting;
    while (waiting.count >= this.#settings.max_entries || waiting.bytes + bytes > this.#maxBytes) {
      waiting.free(waiting.take());
      this.#drop(1, "full");
    }
    waiting.add(entry, bytes);
    this.#schedule();
  }

  /** Begins deliveries if none is under way: immediately for a full batch, else after the coalescing delay. */
  #schedule(): void {
    if (this.#delivering !== null || this.#waiting.count === 0) return;
    const { max_batch_size: full, max_coalescing_delay: delay } = this.#settings;
    if (this.#waiting.count >= full || delay === 0) this.#begin();
    else this.#coalescing ??= this.#context.timers.after(delay * 1000, () => this.#begin());
  }

  #begin(): void {
    this.#coalescing?.cancel();
    this.#coalescing = null;
    if (this.#delivering !== null) return;
    this.#delivering = this.#deliverBatches().finally(() => {
      this.#delivering = null;
      if (!this.#isClosing) this.#schedule();
    });
  }

  /** Delivers a batch, and further batches while they are full. When the queue closes, delivers all entries. */
  async #deliverBatches(): Promise<void> {
    const { max_batch_size: full } = this.#settings;
    const waiting = this.#waiting;
    while (waiting.count > 0) {
      const entries: StoredEntry[] = [];
      while (entries.length < full && waiting.count > 0) entries.push(waiting.take());
      await this.#deliverBatch(new StoredBatch(entries));
      for (const entry of entries) waiting.free(entry);
      if (waiting.count < full && !this.#isClosing) return;
    }
  }

  #deliverAlone(entry: string | TransientBytes, bytes: number): void {
    if (this.#alone.size >= this.#settings.max_entries || this.#aloneBytes + bytes > this.#maxBytes) {
      this.#drop(1, "full");
      return;
    }
    this.#aloneBytes += bytes;
    const delivery = this.#deliverBatch(new StoredBatch([storeAlone(entry, bytes)])).finally(() => {
      this.#alone.delete(delivery);
      this.#aloneBytes -= bytes;
    });
    this.#alone.add(delivery);
  }

  /** Never rejects. */
  async #deliverBatch(batch: StoredBatch): Promise<void> {
    const { max_retry_time, initial_retry_delay, max_retry_delay } = this.#settings;
    const started = performance.now();
    for (let retries = 0; ; retries++) {
      try {
        await this.#deliver(batch);
        this.#recover();
        return;
      } catch (error) {
        this.#logFailure(error);
      } finally {
        batch.settle();
      }
      if (this.#isClosing || performance.now() - started > max_retry_time * 1000) {
        this.#drop(batch.length, "undelivered");
        return;
      }
      await this.#pause(Math.min(max_retry_delay, initial_retry_delay * 2 ** retries) * 1000);
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#pauses.delete(end);
        timer.cancel();
        resolve();
      };
      const timer = this.#context.timers.after(milliseconds, end);
      this.#pauses.add(end);
    });
  }

  #logFailure(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#context.log.warn("entries could not be delivered", {
      reason: error instanceof Error ? error.message : error,
    });
  }

  #recover(): void {
    if (this.#isFailing)
      this.#context.log.info("the delivery of entries works again", { dropped: this.#droppedSinceDelivery });
    this.#isFailing = false;
    this.#droppedSinceDelivery = 0;
  }

  #drop(count: number, reason: DropReason): void {
    if (this.#droppedSinceDelivery === 0) this.#context.log.error("entries of the queue are dropped", { reason });
    this.#droppedSinceDelivery += count;
    this.#dropped ??= this.#context.counterMetric(droppedEntries);
    this.#dropped.add(count, [reason]);
  }
}
