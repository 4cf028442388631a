/** Measures for how long the phases of plugins occupy the event loop, and records which plugin runs. */
import type { Exchange, PluginDefinition, PluginPhases } from "@sluice/plugin-sdk";
import type { GatewayMetrics } from "../metrics/metrics.ts";
import type { ServicesLog } from "./instance-context.ts";

/** One of this many calls of a phase is measured: reading the clock twice per call would slow down every request. */
const CALLS_PER_SAMPLE = 64;

/** Milliseconds. Meanwhile the worker serves no other request. */
const BLOCKING = 100;

type MeasuredPhase = "access" | "responseHeaders" | "log";

export interface PhaseMeterOptions {
  readonly metrics: Pick<GatewayMetrics, "observePlugin">;
  readonly log: Pick<ServicesLog, "warn">;
  /** The word that holds the number of the plugin that runs (see `pluginNumbered`); 0: none. */
  readonly running: Int32Array;
}

/** The name of the plugin with this number; undefined for 0. The control thread and its workers know the same names. */
export const pluginNumbered = (names: Iterable<string>, number: number): string | undefined =>
  inOrder(names)[number - 1];

const inOrder = (names: Iterable<string>): readonly string[] => [...names].toSorted();

/** The given plugins by name, with measured phases; an instance still has only the phases that it implements. */
export function measuredPlugins(
  plugins: readonly PluginDefinition[],
  options: PhaseMeterOptions,
): ReadonlyMap<string, PluginDefinition> {
  const names = inOrder(plugins.map(({ name }) => name));
  return new Map(
    plugins.map((plugin) => {
      const meter = new PhaseMeter(plugin.name, names.indexOf(plugin.name) + 1, options);
      return [plugin.name, { ...plugin, phases: (config, context) => meter.measured(plugin.phases(config, context)) }];
    }),
  );
}

class PhaseMeter {
  readonly #plugin: string;
  readonly #number: number;
  readonly #options: PhaseMeterOptions;

  constructor(plugin: string, number: number, options: PhaseMeterOptions) {
    this.#plugin = plugin;
    this.#number = number;
    this.#options = options;
  }

  /** Every object has all members in the same order, so that the pipeline's property accesses stay monomorphic. */
  measured(phases: PluginPhases): PluginPhases {
    return {
      access: this.#phase(phases, "access"),
      response: phases.response?.bind(phases),
      responseHeaders: this.#phase(phases, "responseHeaders"),
      responseBody: phases.responseBody?.bind(phases),
      log: this.#phase(phases, "log"),
      endpoint: phases.endpoint?.bind(phases),
      start: phases.start?.bind(phases),
      stop: phases.stop?.bind(phases),
    } satisfies Record<keyof PluginPhases, unknown> as PluginPhases;
  }

  /** A promise that the phase returns is not awaited: only the call itself occupies the event loop. */
  #phase(phases: PluginPhases, name: MeasuredPhase) {
    const phase = phases[name]?.bind(phases) as ((exchange: Exchange) => unknown) | undefined;
    if (phase === undefined) return undefined;
    const { running } = this.#options;
    const number = this.#number;
    let calls = 0;
    return (exchange: Exchange) => {
      running[0] = number;
      const began = calls++ % CALLS_PER_SAMPLE === 0 ? performance.now() : null;
      try {
        return phase(exchange);
      } finally {
        running[0] = 0;
        if (began !== null) this.#observe(name, performance.now() - began);
      }
    };
  }

  #observe(phase: MeasuredPhase, milliseconds: number): void {
    const { metrics, log } = this.#options;
    metrics.observePlugin(this.#plugin, phase, milliseconds / 1000);
    if (milliseconds < BLOCKING) return;
    const facts = { plugin: this.#plugin, phase, milliseconds: Math.round(milliseconds) };
    log.warn(facts, "a plugin blocked the event loop; meanwhile the worker served no other request");
  }
}
