import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { createRestMetrics, registerOperatorGauges } from "./metrics.ts";
import { createWorkMetrics } from "./work-metrics.ts";

/** The lines that contain a value, except those of histogram buckets. */
async function linesOf(registry: Registry): Promise<readonly string[]> {
  const lines = (await registry.metrics()).split("\n");
  return lines.filter((line) => line !== "" && !line.startsWith("#") && !line.includes("_bucket{"));
}

test("the work queues are measured with controller-runtime's metric names", async () => {
  const registry = new Registry();
  const { status } = createWorkMetrics(registry);
  const none = () => 0;
  registerOperatorGauges(registry, {
    revision: none,
    resources: () => ({}),
    problems: none,
    document: { queued: none, workers: 1 },
    status: { queued: () => 3, workers: 8 },
    lease: "sluice-operator",
    term: none,
    savedAt: none,
    countersSavedAt: none,
    nodes: () => ({ current: 0, lagging: 0, silent: 0 }),
  });
  for (let at = 0; at < 3; at++) status.added();
  status.started(0.5);
  status.ended(0.25, "success");
  status.started(0.5);
  status.ended(0.25, "error");
  status.retried();
  status.started(1);
  const lines = await linesOf(registry);
  for (const line of [
    'workqueue_depth{name="status",controller="status"} 3',
    'workqueue_adds_total{name="status",controller="status"} 3',
    'workqueue_adds_total{name="document",controller="document"} 0',
    'workqueue_retries_total{name="status",controller="status"} 1',
    'workqueue_queue_duration_seconds_sum{name="status",controller="status"} 2',
    'workqueue_work_duration_seconds_count{name="status",controller="status"} 2',
    'controller_runtime_reconcile_total{controller="status",result="success"} 1',
    'controller_runtime_reconcile_total{controller="status",result="error"} 1',
    'controller_runtime_reconcile_errors_total{controller="status"} 1',
    'controller_runtime_reconcile_errors_total{controller="document"} 0',
    'controller_runtime_reconcile_time_seconds_sum{controller="status"} 0.5',
    'controller_runtime_active_workers{controller="status"} 1',
    'controller_runtime_max_concurrent_reconciles{controller="status"} 8',
  ])
    assert.ok(lines.includes(line), `${line} is not among:\n${lines.join("\n")}`);
});

test("requests to the API server are counted and timed with client-go's metric names", async () => {
  const registry = new Registry();
  const answered = createRestMetrics(registry);
  for (const code of ["200", "200", "<error>"]) answered({ method: "GET", code, host: "api:6443", seconds: 0.5 });
  const lines = await linesOf(registry);
  for (const line of [
    'rest_client_requests_total{method="GET",code="200",host="api:6443"} 2',
    'rest_client_requests_total{method="GET",code="<error>",host="api:6443"} 1',
    'rest_client_request_duration_seconds_sum{verb="GET",host="api:6443"} 1.5',
  ])
    assert.ok(lines.includes(line), `${line} is not among:\n${lines.join("\n")}`);
});
