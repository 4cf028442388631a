/**
 * `process_*` and `nodejs_*`, as prom-client collects them. Each thread has its own: what the process has as a whole is
 * told by the control thread alone, what belongs to an event loop or a heap by every thread, with its number.
 */
import { readdir } from "node:fs/promises";
import { collectDefaultMetrics, Gauge, type MetricObject, type MetricValue, Registry } from "prom-client";

export interface RuntimeMetricsOptions {
  readonly nodeId: string;
  /** 0 is the control thread. */
  readonly worker: number;
}

/** Plain data: it crosses threads and the network. */
export type RuntimeMetrics = () => Promise<readonly MetricObject[]>;

/** Their collection walks every socket, or lists every descriptor without leaving the thread: it would stall requests. */
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
      // Labels tell nodes and threads apart, so that nothing is ever added up.
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

/** Linux alone lists them there; elsewhere the metric has no value. */
function openDescriptors(registry: Registry): void {
  new Gauge({
    name: "process_open_fds",
    help: "Number of open file descriptors.",
    registers: [registry],
    async collect() {
      const open = await readdir("/proc/self/fd").catch(() => null);
      // The folder itself is open while it is read.
      if (open === null) this.reset();
      else this.set(open.length - 1);
    },
  });
}
