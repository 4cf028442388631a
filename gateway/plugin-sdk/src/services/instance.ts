/** Services of one plugin instance; they end with it. */
import type { Exchange } from "../exchange/exchange.ts";

/** An instance's id, and the ids of the entities to which it is attached. */
export interface PluginScope {
  readonly id: string;
  readonly serviceId: string | null;
  readonly routeId: string | null;
  readonly consumerId: string | null;
  readonly consumerGroupId: string | null;
}

/** Details of a log line. They must contain no secrets. */
export type LogFacts = Readonly<Record<string, unknown>>;

/**
 * The node's log. Each line has the plugin's name and the instance's id, and the request's id if an exchange is given.
 */
export interface PluginLog {
  info(message: string, facts?: LogFacts, exchange?: Exchange): void;
  warn(message: string, facts?: LogFacts, exchange?: Exchange): void;
  error(message: string, facts?: LogFacts, exchange?: Exchange): void;
}

/** A timer of an instance. */
export interface PluginTimer {
  /** Stops the timer. Has no effect after a timer of `after` has run, or after the instance has ended. */
  cancel(): void;
}

/**
 * Timers that end with the instance and do not keep the process alive. An error of an action, even of an
 * asynchronous one, is logged.
 */
export interface PluginTimers {
  /** Calls the action once. */
  after(milliseconds: number, action: () => void | Promise<void>): PluginTimer;
  /** Calls the action repeatedly, the first time after the interval. */
  every(milliseconds: number, action: () => void | Promise<void>): PluginTimer;
}

export interface CounterMetricOptions {
  /** A name in snake case, such as `dropped_entries_total`. The metric is called `sluice_<plugin>_<name>`. */
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** A metric that only increases. Its values are summed over the workers of a node. */
export interface CounterMetric {
  /** @param labels One value for each label name */
  add(amount: number, labels: readonly string[]): void;
}

export interface HistogramMetricOptions extends CounterMetricOptions {
  /** Upper bounds of the buckets, in ascending order. A series has a line for each of them, and three more. */
  readonly bounds: readonly number[];
}

/** The distribution of values, such as of seconds. Its buckets are summed over the workers of a node. */
export interface HistogramMetric {
  /** @param labels One value for each label name */
  observe(value: number, labels: readonly string[]): void;
}
