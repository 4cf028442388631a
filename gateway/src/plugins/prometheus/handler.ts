/** prometheus: what its config asks for is counted when an exchange is over (kong-contract 3.5). */
import type { PrometheusConfig } from "@sluice/model";
import type { Exchange } from "../../proxy/exchange.ts";
import type { PluginHandler } from "../plugin.ts";
import type { LatencyKind, RequestLabels } from "./metrics.ts";

/** nginx's word for a client that went away before it was answered; Kong counts it so. */
const CLIENT_CLOSED_REQUEST = 499;

function labelsOf({ service, route, consumer }: Exchange, { per_consumer }: PrometheusConfig): RequestLabels {
  return {
    service: service?.name ?? service?.host ?? "",
    route: route.name ?? route.id,
    consumer: per_consumer && consumer !== null ? (consumer.username ?? consumer.custom_id ?? consumer.id) : "",
  };
}

/** Milliseconds; what did not happen is not in it. */
function latenciesOf({ timings: { started, forwarded, answered, ended } }: Exchange) {
  const latencies: [LatencyKind, number][] = [];
  // The gateway's part ends when the request leaves for the upstream; when none does, with the gateway's own answer.
  const left = forwarded ?? ended;
  if (left !== undefined) latencies.push(["gateway", left - started]);
  if (forwarded !== undefined && answered !== undefined) latencies.push(["upstream", answered - forwarded]);
  if (ended !== undefined) latencies.push(["request", ended - started]);
  return latencies;
}

export const prometheus: PluginHandler<"prometheus"> = (config, _scope, { metrics }) => ({
  log(exchange) {
    const labels = labelsOf(exchange, config);
    if (config.status_code_metrics) {
      metrics.countRequest(labels, { code: exchange.status || CLIENT_CLOSED_REQUEST, source: exchange.source });
    }
    if (config.bandwidth_metrics) {
      metrics.countBytes(labels, { ingress: exchange.bytesIn, egress: exchange.bytesOut });
    }
    if (config.latency_metrics) {
      for (const [kind, milliseconds] of latenciesOf(exchange)) {
        metrics.observeLatency(labels, kind, Math.max(0, milliseconds));
      }
    }
  },
});
