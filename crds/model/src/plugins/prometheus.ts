/** Config of prometheus: the metrics to record. */
import { flag, record, type Static } from "../schema/member.ts";

const metrics = (what: string) => flag({ description: `Whether ${what}.`, default: false });

export const prometheusSchema = record(
  {
    per_consumer: metrics("counts carry the consumer"),
    status_code_metrics: metrics("requests are counted by status"),
    latency_metrics: metrics("latencies are measured"),
    bandwidth_metrics: metrics("bytes are counted"),
    upstream_health_metrics: metrics("the health of upstream targets is shown"),
    ai_metrics: metrics("AI metrics are shown; accepted for Kong's sake, nothing is counted"),
    wasm_metrics: metrics("WebAssembly metrics are shown; accepted for Kong's sake, nothing is counted"),
  },
  { description: "Requests are counted for Prometheus." },
);

export type PrometheusConfig = Static<typeof prometheusSchema>;
