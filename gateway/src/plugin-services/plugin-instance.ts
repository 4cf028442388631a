/** An instance of a plugin from its start to its stop. */
import type { PluginDefinition, PluginPhases, PluginScope } from "@sluice/plugin-sdk";
import type { InstanceCache } from "../plugin-caches/create-caches.ts";
import { checkedPhases } from "./checked-phases.ts";
import { InstanceContext, type WorkerServices } from "./instance-context.ts";

/** Milliseconds after which a start or stop is logged as late and no longer awaited. */
export interface InstanceLimits {
  readonly start: number;
  readonly stop: number;
}

export const instanceLimits: InstanceLimits = { start: 10_000, stop: 3000 };

export interface PluginInstanceOptions {
  readonly config: Parameters<PluginDefinition["phases"]>[0];
  readonly scope: PluginScope;
  readonly services: WorkerServices;
  readonly limits?: InstanceLimits;
}

export class PluginInstance {
  readonly phases: PluginPhases;
  readonly #context: InstanceContext;
  readonly #limits: InstanceLimits;

  constructor(plugin: PluginDefinition, { config, scope, services, limits = instanceLimits }: PluginInstanceOptions) {
    this.#context = new InstanceContext(plugin.name, scope, services);
    this.#limits = limits;
    try {
      this.phases = checkedPhases(plugin.phases(config, this.#context));
    } catch (error) {
      // `phases` may have opened connections or started timers before it failed.
      this.#context.end();
      throw error;
    }
  }

  /** The cache that the instance has opened; null: none. */
  get cache(): InstanceCache<unknown> | null {
    return this.#context.openedCache;
  }

  /** Ends an instance that was not started: its timers, connections and cache. */
  discard(): void {
    this.#context.end();
  }

  /** Never throws or rejects: an error of the start is logged, and the instance serves requests nevertheless. */
  async start(): Promise<void> {
    const { start } = this.phases;
    if (start !== undefined) await this.#run("start", () => start.call(this.phases));
  }

  /** Never throws or rejects. Resolves when the instance has stopped, or when the limit has passed. */
  async stop(): Promise<void> {
    const { stop } = this.phases;
    if (stop !== undefined) await this.#run("stop", () => stop.call(this.phases));
    this.#context.end();
  }

  async #run(phase: "start" | "stop", action: () => void | Promise<void>): Promise<void> {
    const limit = this.#limits[phase];
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#context.log.error(`the plugin did not ${phase} in time`, { milliseconds: limit });
      late.resolve();
    }, limit);
    timer.unref();
    try {
      await Promise.race([action(), late.promise]);
    } catch (error) {
      this.#context.log.error(`the plugin could not ${phase}`, { err: error });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The instances in which a runtime differs from a previous one. */
export interface InstanceChanges {
  readonly added: readonly PluginInstance[];
  readonly removed: readonly PluginInstance[];
}
