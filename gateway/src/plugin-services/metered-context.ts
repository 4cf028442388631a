/**
 * Wraps the context of an instance, so that not only the phases count as the plugin's code, but also callbacks of its
 * timers, and code that continues after it has awaited a promise of the node's services.
 */
import type { Counters, PluginCache, PluginContext, PluginTimers } from "@sluice/plugin-sdk";
import { attributeToPlugin } from "./running-plugin.ts";

/** `run` returns a callback that runs the given callback as code of a plugin. */
export interface TimerMeter {
  /** The plugin's number, as in `pluginNumbered`. */
  readonly number: number;
  run(name: "timer", action: TimerAction): TimerAction;
}

type TimerAction = () => void | Promise<void>;

type Settle = <Value>(result: Value | Promise<Value>) => Value | Promise<Value>;

export function meteredContext(context: PluginContext, meter: TimerMeter): PluginContext {
  const settle: Settle = (result) => (result instanceof Promise ? attributeToPlugin(result, meter.number) : result);
  let counters: Counters | undefined;
  let timers: PluginTimers | undefined;
  let network: PluginContext["network"] | undefined;
  return {
    scope: context.scope,
    // Services are created on first use.
    get counters() {
      counters ??= meteredCounters(context.counters, settle);
      return counters;
    },
    get timers() {
      timers ??= meteredTimers(context.timers, meter);
      return timers;
    },
    get network() {
      network ??= meteredNetwork(context.network, meter.number);
      return network;
    },
    get concurrency() {
      return context.concurrency;
    },
    get metrics() {
      return context.metrics;
    },
    get operations() {
      return context.operations;
    },
    get log() {
      return context.log;
    },
    get now() {
      return context.now;
    },
    counterMetric: (options) => context.counterMetric(options),
    histogramMetric: (options) => context.histogramMetric(options),
    cache: (options) => meteredCache(context.cache(options), settle),
  };
}

const meteredCounters = (counters: Counters, settle: Settle): Counters => ({
  incrementBelowLimit: (taken, options) => settle(counters.incrementBelowLimit(taken, options)),
  addAmount: (added, amount, options) => settle(counters.addAmount(added, amount, options)),
  fillBuckets: (buckets, now, options) => settle(counters.fillBuckets(buckets, now, options)),
  bucketLevels: (buckets, now, options) => settle(counters.bucketLevels(buckets, now, options)),
  unavailableReason: (policy) => counters.unavailableReason?.(policy) ?? null,
  close: () => counters.close(),
});

const meteredTimers = (timers: PluginTimers, meter: TimerMeter): PluginTimers => ({
  after: (milliseconds, action) => timers.after(milliseconds, meter.run("timer", action)),
  every: (milliseconds, action) => timers.every(milliseconds, meter.run("timer", action)),
});

function meteredNetwork(network: PluginContext["network"], plugin: number): PluginContext["network"] {
  return {
    http: { send: (request) => attributeToPlugin(network.http.send(request), plugin) },
    connect: (destination) => network.connect(destination),
    startTls: (socket, destination) => network.startTls(socket, destination),
    datagrams(destination) {
      const datagrams = network.datagrams(destination);
      return {
        send: (data) => attributeToPlugin(datagrams.send(data), plugin),
        close: () => datagrams.close(),
      };
    },
  };
}

const meteredCache = <Value>(cache: PluginCache<Value>, settle: Settle): PluginCache<Value> => ({
  get: (key) => settle(cache.get(key)),
  set: (key, value, lifetime) => settle(cache.set(key, value, lifetime)),
  delete: (key) => settle(cache.delete(key)),
  clear: () => settle(cache.clear()),
});
