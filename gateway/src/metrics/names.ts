/** Names of metrics: Sluice's, and Kong's for dashboards (docs/reference/kong-compatibility.md#metrics). */

const names = {
  requests: { sluice: "sluice_http_requests_total", kong: "kong_http_requests_total" },
  bandwidth: { sluice: "sluice_bandwidth_bytes", kong: "kong_bandwidth_bytes" },
  gatewayLatency: { sluice: "sluice_gateway_latency_ms", kong: "kong_kong_latency_ms" },
  upstreamLatency: { sluice: "sluice_upstream_latency_ms", kong: "kong_upstream_latency_ms" },
  requestLatency: { sluice: "sluice_request_latency_ms", kong: "kong_request_latency_ms" },
  connections: { sluice: "sluice_connections", kong: "kong_nginx_connections_total" },
  received: { sluice: "sluice_requests_received", kong: "kong_nginx_requests_total" },
  unrouted: { sluice: "sluice_http_requests_unrouted_total", kong: "kong_http_requests_unrouted_total" },
  targets: { sluice: "sluice_upstream_target_health", kong: "kong_upstream_target_health" },
  node: { sluice: "sluice_node_info", kong: "kong_node_info" },
  config: { sluice: "sluice_config_info", kong: "kong_config_info" },
  certificates: {
    sluice: "sluice_certificate_expiry_timestamp_seconds",
    kong: "kong_certificate_expiry_timestamp_seconds",
  },
  reload: { sluice: "sluice_config_last_reload_successful", kong: "kong_config_last_reload_successful" },
  reloaded: {
    sluice: "sluice_config_last_reload_success_timestamp_seconds",
    kong: "kong_config_last_reload_success_timestamp_seconds",
  },
  datastore: { sluice: "sluice_datastore_reachable", kong: "kong_datastore_reachable" },
  entities: { sluice: "sluice_entities", kong: "kong_db_entities_total" },
  memory: { sluice: "sluice_memory_bytes", kong: "kong_memory_bytes" },
} as const;

export type MetricName = keyof typeof names;

/** The value of `source` for the gateway's own responses. */
const gatewaySource = { sluice: "gateway", kong: "kong" } as const;

export interface Naming {
  readonly name: (metric: MetricName) => string;
  readonly source: (source: "service" | "gateway") => string;
}

export function naming(compat: boolean): Naming {
  const style = compat ? "kong" : "sluice";
  return {
    name: (metric) => names[metric][style],
    source: (source) => (source === "gateway" ? gatewaySource[style] : source),
  };
}
