/** The metrics of every process, as the processes register them. */
import { collectDefaultMetrics, Registry } from "prom-client";
import { droppedEntries } from "../../gateway/plugin-sdk/src/delivery/delivery-queue.ts";
import { pluginMetrics } from "../../gateway/plugins/index.ts";
import { nodeScraped } from "../../gateway/src/admin/information/nodes/node-metrics.ts";
import { createMetrics } from "../../gateway/src/metrics/metrics.ts";
import { addedLabels, runtimeRegistry } from "../../gateway/src/metrics/runtime-metrics.ts";
import type { MetricDescription } from "../../gateway/src/metrics/table.ts";
import { createOrderMetrics } from "../../operator/src/acme/acme-metrics.ts";
import {
  createCertificateMetrics,
  createOperatorMetrics,
  createRestMetrics,
  registerOperatorGauges,
} from "../../operator/src/metrics.ts";
import { createWebhookMetrics } from "../../operator/src/webhook/webhook-metrics.ts";
import { makeMetrics } from "../../user-api/src/operations/metrics.ts";

export interface RegisteredMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** The name with SLUICE_COMPAT=kong, if it differs. */
  readonly kongName?: string;
}

/** `gateway` also stands for the admin listener, which adds up the metrics of all nodes. */
export type MeasuredComponent = "gateway" | "operator" | "user-api";

/** Stands for the name of any plugin. Names of plugins contain no angle brackets, so it is not a real name. */
const ANY_PLUGIN = "<plugin>";

function shapesOf(compat: boolean): readonly MetricDescription[] {
  const metrics = createMetrics({ compat, nodeId: "", version: "" });
  metrics.pluginCounter(ANY_PLUGIN, droppedEntries);
  for (const [plugin, list] of Object.entries(pluginMetrics))
    for (const options of list)
      if ("bounds" in options) metrics.pluginHistogram(plugin, options);
      else metrics.pluginCounter(plugin, options);
  return metrics.tables.map(({ shape }) => shape);
}

function gatewayMetrics(): readonly RegisteredMetric[] {
  const kong = shapesOf(true);
  const own = shapesOf(false).map(({ labelNames: labels, ...shape }, at) => ({
    ...shape,
    labels,
    kongName: kong[at]?.name ?? "",
  }));
  const runtime = metricsIn(runtimeRegistry(0)).map((metric) => ({
    ...metric,
    labels: [...Object.keys(addedLabels(metric.name, { nodeId: "", worker: 0 })), ...metric.labels],
  }));
  const { labelNames: labels, ...scraped } = nodeScraped;
  return [...own, ...runtime, { ...scraped, labels, type: "gauge" }];
}

function operatorMetrics(): readonly RegisteredMetric[] {
  const registry = new Registry();
  const none = () => 0;
  createOperatorMetrics(registry);
  registerOperatorGauges(registry, {
    revision: none,
    resources: () => ({}),
    problems: none,
    document: { queued: none, workers: 1 },
    status: { queued: none, workers: 1 },
    lease: "",
    term: () => null,
    savedAt: () => null,
    countersSavedAt: () => null,
    nodes: () => ({ current: 0, lagging: 0, silent: 0 }),
  });
  createCertificateMetrics(registry);
  createOrderMetrics(registry, () => []);
  createRestMetrics(registry);
  createWebhookMetrics(registry, "");
  return metricsIn(registry);
}

function userApiMetrics(): readonly RegisteredMetric[] {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const subscriptions = () => ({ sockets: 0, streams: 0, subscriptions: 0, slow: 0 });
  makeMetrics({ registry, subscriptions, events: { health: () => ({ through: "process", connected: true }) } });
  return metricsIn(registry);
}

/** prom-client's types leave out the label names. */
const metricsIn = (registry: Registry): readonly RegisteredMetric[] =>
  registry.getMetricsAsArray().map((metric) => {
    const { labelNames } = metric as unknown as { readonly labelNames: readonly string[] };
    return { name: metric.name, type: String(metric.type), help: metric.help, labels: labelNames };
  });

export const registeredMetrics: Readonly<Record<MeasuredComponent, readonly RegisteredMetric[]>> = {
  gateway: gatewayMetrics(),
  operator: operatorMetrics(),
  "user-api": userApiMetrics(),
};
