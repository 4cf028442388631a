/** Plugins that come with Sluice, with services that keep and send nothing, for runtimes that serve no requests. */
import type { Counters } from "@sluice/plugin-sdk";
import { builtInPlugins } from "@sluice/plugins";
import type { PluginTools } from "../compile/runtime.ts";
import { ThreadConcurrency } from "../counters/concurrency.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { refusedSocket } from "../outbound/connect.ts";
import type { WorkerServices } from "../plugin-services/instance-context.ts";
import { sluiceVersion } from "../settings/version.ts";

/** @param now Unix milliseconds, at which the clock of the plugins stands */
export const inertPluginTools = (now: number): PluginTools => ({
  plugins: new Map(builtInPlugins.map((plugin) => [plugin.name, plugin])),
  services: inertServices(now),
});

/** Every counter is at 0. */
const counters: Counters = {
  incrementBelowLimit: (wanted) => ({ admitted: true, counts: wanted.map(() => 1) }),
  addAmount: (wanted) => wanted.map(() => 0),
  fillBuckets: (buckets) => ({ admitted: true, levels: buckets.map(() => 1) }),
  bucketLevels: (buckets) => buckets.map(() => 0),
  async close() {},
};

/** Services that keep and send nothing. */
function inertServices(now: number): WorkerServices {
  const refusal = () => new Error("a plan sends nothing");
  const nothing = { info() {}, warn() {}, error() {} };
  return {
    counters,
    concurrency: new ThreadConcurrency(),
    metrics: createMetrics({ compat: false, nodeId: "plan", version: sluiceVersion }),
    operations: { record() {} },
    now: () => now,
    connect: () => refusedSocket(refusal()),
    openHttpClient: () => ({
      async send() {
        throw refusal();
      },
      close() {},
    }),
    datagrams: () => ({
      async send() {
        throw refusal();
      },
      close() {},
    }),
    caches: {
      open: () => ({ get: () => undefined, set() {}, delete: () => false, clear() {} }),
      close() {},
    },
    log: nothing,
    vault: { allowed: [], variables: {} },
    startTimer: () => () => {},
  };
}
