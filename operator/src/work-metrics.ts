/**
 * Metrics of the operator's work queues, with the names of controller-runtime and client-go, so that dashboards and
 * alerts for other operators work.
 */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** `document`: translates and publishes changes. `status`: writes conditions; each queued item is one resource. */
export const metricControllers = ["document", "status"] as const;
export type ControllerName = (typeof metricControllers)[number];

const seconds = [0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

const queue = (controller: ControllerName) => ({ name: controller, controller });

export function createWorkMetrics(registry: Registry) {
  const registers = [registry];
  const ofQueue = { labelNames: ["name", "controller"], registers } as const;
  const ofController = { labelNames: ["controller"], registers } as const;
  const adds = new Counter({ name: "workqueue_adds_total", help: "Items added to the queue.", ...ofQueue });
  const retries = new Counter({ name: "workqueue_retries_total", help: "Items retried after a failure.", ...ofQueue });
  const waits = new Histogram({
    name: "workqueue_queue_duration_seconds",
    help: "Time that an item waited in the queue.",
    buckets: seconds,
    ...ofQueue,
  });
  const works = new Histogram({
    name: "workqueue_work_duration_seconds",
    help: "Time to process an item.",
    buckets: seconds,
    ...ofQueue,
  });
  const total = new Counter({
    name: "controller_runtime_reconcile_total",
    help: "Processed items, by result.",
    labelNames: ["controller", "result"],
    registers,
  });
  const errors = new Counter({
    name: "controller_runtime_reconcile_errors_total",
    help: "Items whose processing failed.",
    ...ofController,
  });
  const times = new Histogram({
    name: "controller_runtime_reconcile_time_seconds",
    help: "Time to process an item.",
    buckets: seconds,
    ...ofController,
  });
  const active = new Gauge({
    name: "controller_runtime_active_workers",
    help: "Items being processed.",
    ...ofController,
  });
  function workOf(controller: ControllerName) {
    const [of, itself] = [queue(controller), { controller }];
    // The counters start at 0, so that an alert on an increase sees the first event.
    for (const counter of [adds, retries]) counter.inc(of, 0);
    errors.inc(itself, 0);
    return {
      /** Called when an item is queued that the queue does not contain yet. */
      added: () => adds.inc(of),
      /** @param waited Seconds since the item was queued. */
      started(waited: number) {
        waits.observe(of, waited);
        active.inc(itself);
      },
      /** @param took Seconds since the processing of the item started. */
      ended(took: number, result: "success" | "error") {
        active.dec(itself);
        works.observe(of, took);
        times.observe(itself, took);
        total.inc({ controller, result });
        if (result === "error") errors.inc(itself);
      },
      /** Called when a failed item is queued again. */
      retried: () => retries.inc(of),
    };
  }

  return { document: workOf("document"), status: workOf("status") };
}

/** Records the events of one controller's queue. */
export type WorkQueueMetrics = ReturnType<typeof createWorkMetrics>[ControllerName];
