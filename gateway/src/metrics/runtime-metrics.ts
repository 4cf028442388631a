/**
 * The metrics `process_*` and `nodejs_*`; prom-client collects most of them. Only the control thread reports metrics of
 * the whole process. Every thread reports the metrics of its own event loop and heap, with its number as a label.
 */
import { readdir } from "node:fs/promises";
import { collectDefaultMetrics, Gauge, type MetricObject, type MetricValue, Registry } from "prom-client";
import type { MetricsPart } from "./slices.ts";

export interface RuntimeMetricsOptions {
  readonly nodeId: string;
  /** 0 is the control thread. */
  readonly worker: number;
}

export type RuntimeMetrics = () => Promise<readonly MetricsPart[]>;

/**
 * Metrics of prom-client that are removed: collecting them visits every socket, or lists every descriptor
 * synchronously, which would stall requests. `openDescriptors` adds the number of descriptors again.
 */
const left = /^nodejs_active_|^process_open_fds$/;

/** The metrics of a thread, without the labels that are added to all of them (see `addedLabels`). */
export function runtimeRegistry(worker: number): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    if (left.test(name) || (worker !== 0 && isOfProcess(name))) registry.removeSingleMetric(name);
  }
  if (worker === 0) openDescriptors(registry);
  return registry;
}

/** The labels that are added to each metric of this name. */
export const addedLabels = (name: string, { nodeId, worker }: RuntimeMetricsOptions) => ({
  node_id: nodeId,
  ...(!isOfProcess(name) && { worker: String(worker) }),
});

export function createRuntimeMetrics(options: RuntimeMetricsOptions): RuntimeMetrics {
  const registry = runtimeRegistry(options.worker);
  return async () => {
    const metrics: readonly Collected[] = await registry.getMetricsAsJSON();
    // A histogram has no buckets before its first value.
    return metrics
      .filter(({ values }) => values.length > 0)
      .map((metric) => partOf(metric, addedLabels(metric.name, options)));
  };
}

interface Collected extends MetricObject {
  /**
   * For each series of a histogram, its buckets, its sum and its count are separate values, which `metricName` tells
   * apart. Values of buckets also have the label `le`.
   */
  readonly values: readonly (MetricValue<string> & { readonly metricName?: string })[];
}

function partOf({ name, help, type, values }: Collected, added: Readonly<Record<string, string>>): MetricsPart {
  const series = Map.groupBy(values, ({ labels: { le: _, ...labels } }) => JSON.stringify({ ...labels, ...added }));
  const labels = [...series.keys()].map((text) => JSON.parse(text) as Record<string, string | number>);
  const bounds = [...new Set(values.flatMap(({ labels: { le } }) => (typeof le === "number" ? [le] : [])))];
  const isHistogram = bounds.length > 0;
  return {
    shape: {
      type: String(type) as MetricsPart["shape"]["type"],
      name,
      help,
      labelNames: Object.keys(labels[0] ?? {}),
      bounds: isHistogram ? bounds : null,
    },
    labels: labels.map((each) => Object.values(each).map(String)),
    numbers: [...series.values()].flatMap((own) => (isHistogram ? countsOf(own) : own.map(({ value }) => value))),
  };
}

/** The count of each bucket on its own (prom-client reports cumulative counts), followed by the sum. */
function countsOf(values: Collected["values"]): readonly number[] {
  const below = values.filter(({ labels }) => labels.le !== undefined).map(({ value }) => value);
  const sum = values.find(({ metricName }) => metricName?.endsWith("_sum"))?.value ?? 0;
  return [...below.map((count, at) => count - (below[at - 1] ?? 0)), sum];
}

const isOfProcess = (name: string): boolean => name.startsWith("process_");

/** Only Linux lists open descriptors in /proc/self/fd; on other systems the metric has no value. */
function openDescriptors(registry: Registry): void {
  new Gauge({
    name: "process_open_fds",
    help: "Number of open file descriptors.",
    registers: [registry],
    async collect() {
      const open = await readdir("/proc/self/fd").catch(() => null);
      // Reading the folder itself opens a descriptor.
      if (open === null) this.reset();
      else this.set(open.length - 1);
    },
  });
}
