/** The handlers of all plugins of the model. */
import { cors } from "./cors/handler.ts";
import { keyAuth } from "./key-auth/handler.ts";
import type { PluginHandlers } from "./plugin.ts";
import { prometheus } from "./prometheus/handler.ts";
import { rateLimiting } from "./rate-limiting/handler.ts";

export const handlers: PluginHandlers = {
  cors,
  "key-auth": keyAuth,
  "rate-limiting": rateLimiting,
  prometheus,
};

export type * from "./plugin.ts";
export { writeData } from "./prometheus/data-lines.ts";
export { type Connections, createMetrics, type Metrics, type MetricsOptions } from "./prometheus/metrics.ts";
export { createRuntimeMetrics, type RuntimeMetrics } from "./prometheus/runtime-metrics.ts";
export { type Part, partsOf, Sum, textOf } from "./prometheus/slices.ts";
export type { Counters } from "./rate-limiting/counters.ts";
export { type CountersOptions, createCounters } from "./rate-limiting/create-counters.ts";
