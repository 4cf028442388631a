/** Starts plugin instances when their runtime becomes active, and stops them after their last exchange. */
import type { ExchangeCount, Runtime } from "../compile/runtime.ts";
import type { PluginInstance } from "../plugin-services/plugin-instance.ts";

/** A replaced runtime: its exchanges, and the instances to stop once neither it nor an older one may use them. */
interface Replaced {
  /** The number of runtimes before it. */
  readonly index: number;
  readonly exchanges: ExchangeCount;
  readonly removed: PluginInstance[];
}

export class PluginLifecycle {
  /** The oldest first, because an exchange of an old runtime may use an instance that only a later runtime lacks. */
  readonly #replaced: Replaced[] = [];
  /** The index of the first runtime with the instance. */
  readonly #first = new WeakMap<PluginInstance, number>();
  #runtimes = 0;
  readonly #stopping = new Set<Promise<void>>();

  /** Must be called after each swap, before requests use the new runtime. */
  replaced(previous: Runtime | null, current: Runtime): void {
    const { added, removed } = current.instancesSince(previous);
    const index = this.#runtimes++;
    for (const instance of added) {
      this.#first.set(instance, index);
      void instance.start();
    }
    if (previous === null) return;
    const { exchanges } = previous;
    this.#replaced.push({ index: index - 1, exchanges, removed: [...removed] });
    exchanges.onIdle = () => this.#release();
    this.#release();
  }

  /** Stops all instances. Must be called when no exchange is under way. */
  async close(current: Runtime): Promise<void> {
    for (const { removed } of this.#replaced.splice(0)) this.#stop(removed);
    this.#stop(current.instancesSince(null).added);
    await Promise.all(this.#stopping);
  }

  /**
   * Removes the runtimes without exchanges from the list, so that the list is never longer than the number of runtimes
   * with exchanges. The instances that a removed runtime had to stop are stopped now, except those that the next older
   * runtime of the list has, too. Otherwise a connection that is open for a day would keep the instances of all changes
   * of that day.
   */
  #release(): void {
    for (let at = this.#replaced.length - 1; at >= 0; at--) {
      const entry = this.#replaced[at];
      if (entry === undefined || entry.exchanges.open > 0) continue;
      this.#replaced.splice(at, 1);
      const older = this.#replaced[at - 1];
      const isUsed = (instance: PluginInstance) => older !== undefined && older.index >= this.#firstOf(instance);
      const { kept = [], ended = [] } = Object.groupBy(entry.removed, (one) => (isUsed(one) ? "kept" : "ended"));
      older?.removed.push(...kept);
      this.#stop(ended);
    }
  }

  #firstOf(instance: PluginInstance): number {
    return this.#first.get(instance) ?? 0;
  }

  #stop(instances: readonly PluginInstance[]): void {
    for (const instance of instances) {
      const stopping = instance.stop().finally(() => this.#stopping.delete(stopping));
      this.#stopping.add(stopping);
    }
  }
}
