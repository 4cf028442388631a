/** Config of prometheus: the metrics to record. */
import { boolean, definePluginFacts, record, type Static } from "@sluice/plugin-sdk";

const metrics = (what: string) => boolean({ description: `Whether ${what}.`, default: false });

const withoutEffect = (kind: string) =>
  boolean({
    description: `Accepted for compatibility with Kong, without effect: there are no ${kind} metrics.`,
    default: false,
  });

const schema = record(
  {
    per_consumer: metrics("metrics have a label with the consumer"),
    status_code_metrics: metrics("requests are counted by status"),
    latency_metrics: metrics("latencies of requests, and durations of connections that are not HTTP, are measured"),
    bandwidth_metrics: metrics("bytes are counted"),
    upstream_health_metrics: metrics("the health of upstream targets is exported"),
    ai_metrics: withoutEffect("AI"),
    wasm_metrics: withoutEffect("WebAssembly"),
  },
  { description: "Exports metrics of requests for Prometheus." },
);

export type PrometheusConfig = Static<typeof schema>;

export const prometheusFacts = definePluginFacts({
  name: "prometheus",
  version: "0.1.0",
  priority: 13,
  protects: false,
  actsOnConnections: "byProtocol",
  schema,
});
