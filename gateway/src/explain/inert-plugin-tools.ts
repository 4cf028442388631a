/** Plugins that come with Sluice, with services that keep and send nothing, for runtimes that serve no requests. */
import { builtInPlugins } from "@sluice/plugins";
import type { PluginTools } from "../compile/runtime.ts";
import { ThreadConcurrency } from "../counters/concurrency.ts";
import { ThreadCounters } from "../counters/thread-counters.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { sluiceVersion } from "../settings/version.ts";
import { readOnlyServices } from "./read-only-services.ts";

/**
 * Every counter is at 0, and caches are empty.
 *
 * @param now Unix milliseconds, at which the clock of the plugins stands
 */
export const inertPluginTools = (now: number): PluginTools => ({
  plugins: new Map(builtInPlugins.map((plugin) => [plugin.name, plugin])),
  services: readOnlyServices(
    {
      counters: new ThreadCounters(),
      concurrency: new ThreadConcurrency(),
      metrics: createMetrics({ compat: false, nodeId: "plan", version: sluiceVersion }),
      now: () => now,
      vault: { allowed: [], variables: {} },
    },
    { activity: { counted() {}, sending() {}, logged() {} }, cacheOf: () => null },
  ),
});
