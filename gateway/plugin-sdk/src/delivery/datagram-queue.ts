import type { PluginContext } from "../plugin.ts";
import type { Datagrams, Destination } from "../services/network.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { fixedQueueSettings } from "./queue-settings.ts";

/** A queue of texts, each of which is sent as one datagram. The owner must call `close` when it stops. */
export class DatagramQueue {
  readonly #queue: DeliveryQueue;
  #datagrams: Datagrams | null = null;

  constructor(destination: Destination, context: Pick<PluginContext, "log" | "timers" | "counterMetric" | "network">) {
    this.#queue = new DeliveryQueue({
      settings: { ...fixedQueueSettings, max_batch_size: 1 },
      context,
      deliver: (entries) => {
        this.#datagrams ??= context.network.datagrams(destination);
        return this.#datagrams.send(Buffer.from(entries.join()));
      },
    });
  }

  add(text: string): void {
    this.#queue.add(text);
  }

  /** Sends the texts that are still in the queue, then closes the socket. */
  async close(): Promise<void> {
    await this.#queue.close();
    this.#datagrams?.close();
  }
}
