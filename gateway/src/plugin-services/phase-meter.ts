/** Measures for how long plugins occupy the event loop, and records which plugin runs. */
import type { BodyFilter, BodyObserver, DirectResponse, PluginDefinition, PluginPhases } from "@sluice/plugin-sdk";
import type { GatewayMetrics } from "../metrics/metrics.ts";
import type { PluginWords } from "../shared-memory/heartbeat.ts";
import { checkedPhases } from "./checked-phases.ts";
import type { ServicesLog } from "./instance-context.ts";
import { meteredContext } from "./metered-context.ts";
import { BLOCKING_MILLISECONDS, blockedSince, continuePlugin, pluginWords, trackPlugins } from "./running-plugin.ts";

/** Only one call of a phase in 64 is measured: reading the clock twice per call would slow down every request. */
const CALLS_PER_SAMPLE = 64;

/** A phase, the callback of a timer, or `phases`, which creates the instance. */
export type MeasuredPhase = keyof PluginPhases | "phases" | "timer";

export interface PhaseMeterOptions {
  readonly metrics: Pick<GatewayMetrics, "observePlugin">;
  readonly log: Pick<ServicesLog, "warn" | "error">;
  readonly words: PluginWords;
}

/**
 * The name of the plugin with this number; undefined for 0. The control thread and its workers know the same names, so
 * a number means the same plugin in all threads.
 */
export const pluginNumbered = (names: Iterable<string>, number: number): string | undefined =>
  inOrder(names)[number - 1];

const inOrder = (names: Iterable<string>): readonly string[] => [...names].toSorted();

/** The given plugins by name, measured. Phases that an instance does not implement stay undefined. */
export function measuredPlugins(
  plugins: readonly PluginDefinition[],
  options: PhaseMeterOptions,
): ReadonlyMap<string, PluginDefinition> {
  const names = inOrder(plugins.map(({ name }) => name));
  const meters = new Map(names.map((name, at) => [at + 1, new PhaseMeter(name, at + 1, options)]));
  trackPlugins(options.words, (number, milliseconds) => meters.get(number)?.warn("after an await", milliseconds));
  return new Map(
    plugins.map((plugin) => {
      const meter = meters.get(names.indexOf(plugin.name) + 1) as PhaseMeter;
      const phases: PluginDefinition["phases"] = (config, context) => {
        const create = meter.run("phases", () => plugin.phases(config, meteredContext(context, meter)));
        return meter.measured(checkedPhases(create()));
      };
      return [plugin.name, { ...plugin, phases }];
    }),
  );
}

type Run<Given extends readonly unknown[], Result> = (...given: Given) => Result;

export class PhaseMeter {
  readonly number: number;
  readonly #plugin: string;
  readonly #options: PhaseMeterOptions;
  /** The number of calls of each phase, in all instances together. */
  readonly #calls = new Map<MeasuredPhase, { count: number }>();

  constructor(plugin: string, number: number, options: PhaseMeterOptions) {
    this.#plugin = plugin;
    this.number = number;
    this.#options = options;
  }

  /**
   * The phases, measured. Every returned object has all members in the same order, so that the pipeline's property
   * accesses stay monomorphic.
   */
  measured(phases: PluginPhases): PluginPhases {
    const { access, response, holds, responseHeaders, responseBody, log, endpoint, start, stop } = phases;
    const { connection, connectionLog } = phases;
    return {
      access: access && this.run("access", access.bind(phases)),
      response: response && this.run("response", response.bind(phases)),
      holds: holds && this.run("response", holds.bind(phases)),
      responseHeaders: responseHeaders && this.run("responseHeaders", responseHeaders.bind(phases)),
      responseBody: responseBody && this.#filtering(responseBody.bind(phases)),
      log: log && this.run("log", log.bind(phases)),
      connection: connection && this.run("connection", connection.bind(phases)),
      connectionLog: connectionLog && this.run("connectionLog", connectionLog.bind(phases)),
      endpoint: endpoint && this.run("endpoint", endpoint.bind(phases)),
      start: start && this.run("start", start.bind(phases)),
      stop: stop && this.run("stop", stop.bind(phases)),
    } satisfies Record<keyof PluginPhases, unknown> as PluginPhases;
  }

  /** The phase, measured. A promise that it returns is not awaited: only the call itself is measured. */
  run<Given extends readonly unknown[], Result>(name: MeasuredPhase, phase: Run<Given, Result>): Run<Given, Result> {
    // No phase, callback or method of a filter has more than two parameters; rest parameters would create an array for
    // each call.
    const call = phase as unknown as (first: unknown, second: unknown) => Result;
    const { running, ticks } = pluginWords();
    const { number } = this;
    const calls = this.#calls.get(name) ?? { count: 0 };
    this.#calls.set(name, calls);
    const measured: typeof call = (first, second) => {
      const outer = running[0] as number;
      running[0] = number;
      const tick = ticks[0] as number;
      const began = calls.count++ % CALLS_PER_SAMPLE === 0 ? performance.now() : null;
      let result: Result | undefined;
      try {
        result = call(first, second);
        return result;
      } finally {
        running[0] = outer;
        if (began !== null) this.#observe(name, performance.now() - began);
        else if (ticks[0] !== tick) this.#observeBlock(name, tick);
        if (result !== undefined && result instanceof Promise) continuePlugin(number);
      }
    };
    return measured as unknown as Run<Given, Result>;
  }

  warn(phase: MeasuredPhase | "after an await", milliseconds: number): void {
    const facts = { plugin: this.#plugin, phase, milliseconds: Math.round(milliseconds) };
    this.#options.log.warn(facts, "a plugin blocked the event loop; meanwhile the worker served no other request");
  }

  #observe(phase: MeasuredPhase, milliseconds: number): void {
    this.#options.metrics.observePlugin(this.#plugin, phase, milliseconds / 1000);
    if (milliseconds >= BLOCKING_MILLISECONDS) this.warn(phase, milliseconds);
  }

  #observeBlock(phase: MeasuredPhase, tick: number): void {
    const milliseconds = blockedSince(tick);
    if (milliseconds !== null) this.warn(phase, milliseconds);
  }

  #filtering(responseBody: NonNullable<PluginPhases["responseBody"]>): NonNullable<PluginPhases["responseBody"]> {
    const open = this.run("responseBody", responseBody);
    const calls: ObserverCalls = {
      observe: this.run("responseBody", (observer: BodyObserver, piece: Buffer) =>
        this.#watch(observer.observe(piece)),
      ),
      complete: this.run("responseBody", (observer: BodyObserver) => this.#watch(observer.complete())),
    };
    return (exchange) => {
      const filter = open(exchange);
      if (filter === null || "status" in filter) return filter;
      return "observe" in filter ? new MeasuredObserver(filter, calls) : this.#measuredFilter(filter);
    };
  }

  /** Logs the rejection of an observer's method, which nothing awaits: TypeScript accepts an asynchronous one. */
  #watch(result: unknown): void {
    if (!(result instanceof Promise)) return;
    const facts = { plugin: this.#plugin, phase: "responseBody" };
    result.catch((err: unknown) => this.#options.log.error({ ...facts, err }, "a plugin failed"));
  }

  #measuredFilter(
    filter: Exclude<BodyFilter, BodyObserver>,
  ): Exclude<ReturnType<NonNullable<PluginPhases["responseBody"]>>, DirectResponse> {
    const name = "responseBody";
    if ("whole" in filter) {
      const { limit, longer } = filter;
      return { limit, longer, whole: this.run(name, filter.whole.bind(filter)) };
    }
    if ("transform" in filter) return { transform: this.run(name, filter.transform.bind(filter)) };
    const { end } = filter;
    return {
      piece: this.run(name, filter.piece.bind(filter)),
      ...(end && { end: this.run(name, end.bind(filter)) }),
    };
  }
}

/** Call the methods of an observer, measured: the same functions for all responses. */
interface ObserverCalls {
  observe(observer: BodyObserver, piece: Buffer): void;
  complete(observer: BodyObserver): void;
}

/** One small object for each response: measuring the methods themselves would create four functions. */
class MeasuredObserver implements BodyObserver {
  readonly #observer: BodyObserver;
  readonly #calls: ObserverCalls;

  constructor(observer: BodyObserver, calls: ObserverCalls) {
    this.#observer = observer;
    this.#calls = calls;
  }

  observe(piece: Buffer): void {
    this.#calls.observe(this.#observer, piece);
  }

  complete(): void {
    this.#calls.complete(this.#observer);
  }
}
