/** Metrics of requests to the API server, with the names of client-go. */
import type { CompletedRequest } from "@sluice/crds";
import { Counter, Histogram, type Registry } from "prom-client";

/** Returns the function to call for every response. */
export function createRestMetrics(registry: Registry): (answered: CompletedRequest) => void {
  const registers = [registry];
  const requests = new Counter({
    name: "rest_client_requests_total",
    help: "Requests to the API server, by method, host and the answer's status; code <error> when there was no answer.",
    labelNames: ["code", "method", "host"],
    registers,
  });
  const latencies = new Histogram({
    name: "rest_client_request_duration_seconds",
    help: "Time until the API server's answer began, by method and host.",
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
    labelNames: ["verb", "host"],
    registers,
  });
  return ({ method, code, host, seconds }) => {
    requests.inc({ method, code, host });
    latencies.observe({ verb: method, host }, seconds);
  };
}
