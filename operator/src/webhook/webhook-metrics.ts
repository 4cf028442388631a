/** Metrics of the webhook under the names that controller-runtime gives them. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/**
 * Returns a function to call at the start of every review. That function returns another one, to call at the end of the
 * review with the HTTP status of the response.
 *
 * @param path Path of the webhook: the value of the label `webhook`.
 */
export function createWebhookMetrics(registry: Registry, path: string): () => (code: number) => void {
  const registers = [registry];
  const own = { webhook: path };
  const requests = new Counter({
    name: "controller_runtime_webhook_requests_total",
    help: "Admission reviews, by the HTTP status of the response.",
    labelNames: ["webhook", "code"],
    registers,
  });
  const latency = new Histogram({
    name: "controller_runtime_webhook_latency_seconds",
    help: "Time to answer an admission review.",
    labelNames: ["webhook"],
    buckets: [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
    registers,
  });
  const underWay = new Gauge({
    name: "controller_runtime_webhook_requests_in_flight",
    help: "Admission reviews in progress.",
    labelNames: ["webhook"],
    registers,
  });
  // The metrics start at 0, so that an alert on an increase sees the first event.
  for (const code of ["200", "500"]) requests.inc({ ...own, code }, 0);
  underWay.set(own, 0);
  return () => {
    underWay.inc(own);
    const end = latency.startTimer(own);
    return (code) => {
      underWay.dec(own);
      requests.inc({ ...own, code: `${code}` });
      end();
    };
  };
}
