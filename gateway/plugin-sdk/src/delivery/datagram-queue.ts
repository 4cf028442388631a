import type { TransientBytes } from "../exchange/exchange.ts";
import type { PluginContext } from "../plugin.ts";
import type { Datagrams, Destination } from "../services/network.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import type { DeliveryBatch } from "./entry-memory.ts";
import { fixedQueueSettings, type QueueSettings } from "./queue-settings.ts";

export interface DatagramQueueOptions {
  /** Default: `fixedQueueSettings`, and batches of one text. */
  readonly settings?: QueueSettings;
  /** The datagrams of a batch. Default: one datagram with all texts. */
  datagramsOf?(texts: readonly string[]): Iterable<string>;
}

/** Maximum datagrams that are sent together; fewer than the network refuses. */
const TOGETHER = 64;

/** A queue of texts that are sent as datagrams. The owner must call `close` when it stops. */
export class DatagramQueue {
  readonly #queue: DeliveryQueue;
  readonly #destination: Destination;
  readonly #network: PluginContext["network"];
  readonly #datagramsOf: DatagramQueueOptions["datagramsOf"];
  /** For each batch, its datagrams that have not been sent yet. */
  readonly #left = new WeakMap<DeliveryBatch, Buffer[]>();
  #datagrams: Datagrams | null = null;

  constructor(
    destination: Destination,
    context: Pick<PluginContext, "log" | "timers" | "counterMetric" | "network">,
    { settings = { ...fixedQueueSettings, max_batch_size: 1 }, datagramsOf }: DatagramQueueOptions = {},
  ) {
    this.#destination = destination;
    this.#network = context.network;
    this.#datagramsOf = datagramsOf;
    this.#queue = new DeliveryQueue({ settings, context, deliver: (batch) => this.#send(batch) });
  }

  /** Adds a text, which is copied. */
  add(text: string | TransientBytes): void {
    this.#queue.add(text);
  }

  /** Sends the texts that are still in the queue, then closes the socket. */
  async close(): Promise<void> {
    await this.#queue.close();
    this.#datagrams?.close();
  }

  /**
   * After a failure, the next attempt for the batch sends only the unsent datagrams. Otherwise a server would count
   * metrics twice. Several datagrams are sent together, because waiting for each takes an iteration of the event loop.
   */
  async #send(batch: DeliveryBatch): Promise<void> {
    this.#datagrams ??= this.#network.datagrams(this.#destination);
    const datagrams = this.#datagrams;
    const left = this.#left.getOrInsertComputed(batch, () => this.#split(batch));
    while (left.length > 0) {
      const together = left.splice(0, TOGETHER);
      const results = await Promise.allSettled(together.map((datagram) => datagrams.send(datagram)));
      const unsent = together.filter((_, at) => results[at]?.status === "rejected");
      left.unshift(...unsent);
      const failure = results.find((result) => result.status === "rejected");
      if (failure !== undefined) throw failure.reason;
    }
  }

  #split(batch: DeliveryBatch): Buffer[] {
    // A copy, because the buffer of `join` is used again before the next attempt.
    if (this.#datagramsOf === undefined) return [Buffer.from(batch.join(""))];
    return Array.from(this.#datagramsOf(batch.texts()), (text) => Buffer.from(text));
  }
}
