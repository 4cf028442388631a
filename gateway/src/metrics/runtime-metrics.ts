/**
 * `process_*` and `nodejs_*` as collected by prom-client. Metrics of the whole process are reported by the control
 * thread only; those of an event loop or heap by every thread, with its number.
 */
import { readdir } from "node:fs/promises";
import { collectDefaultMetrics, Gauge, type MetricObject, type MetricValue, Registry } from "prom-client";

export interface RuntimeMetricsOptions {
  readonly nodeId: string;
  /** 0 is the control thread. */
  readonly worker: number;
}

/** Plain data: it is sent between threads and over the network. */
export type RuntimeMetrics = () => Promise<readonly MetricObject[]>;

/**
 * Excluded: collecting them visits every socket, or lists every descriptor synchronously, which would stall requests.
 */
const left = /^nodejs_active_|^process_open_fds$/;

export function createRuntimeMetrics({ nodeId, worker }: RuntimeMetricsOptions): RuntimeMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    if (left.test(name) || (worker !== 0 && isOfProcess(name))) registry.removeSingleMetric(name);
  }
  if (worker === 0) openDescriptors(registry);
  return async () => {
    const metrics = (await registry.getMetricsAsJSON()) as readonly Collected[];
    return metrics.map((metric) => ({
      ...metric,
      // Labels distinguish nodes and threads, so nothing is summed in effect.
      aggregator: "sum",
      values: metric.values.map((value) => ({
        ...value,
        labels: { ...value.labels, node_id: nodeId, ...(!isOfProcess(metric.name) && { worker: String(worker) }) },
      })),
    }));
  };
}

type Collected = MetricObject & { readonly values: readonly MetricValue<string>[] };

const isOfProcess = (name: string): boolean => name.startsWith("process_");

/** Only Linux lists them there; on other systems the metric has no value. */
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
