/** Grafana dashboards for the components' metrics, in the form of Grafana's own exports. */
import type { GeneratedFile } from "../../crds/model/src/generate/files.ts";
import { printJson } from "./print-json.ts";

export interface Panel {
  readonly title: string;
  /** Grafana's unit, such as short, reqps, ops, s, ms, Bps or bytes. */
  readonly unit: string;
  /** Queries by the legend of their lines; {{label}} stands for a label's value. `$namespace` selects namespaces. */
  readonly lines: Readonly<Record<string, string>>;
}

export interface Dashboard {
  readonly title: string;
  /** A metric that always exists, for the list of namespaces. */
  readonly presence: string;
  readonly panels: readonly Panel[];
}

/** Selects the chosen namespaces, by a label that Prometheus adds to metrics of pods. */
const scope = 'namespace=~"$namespace"';
const window = "[$__rate_interval]";

const rate = (metric: string, by: string, where = ""): string =>
  `sum by (${by}) (rate(${metric}{${scope}${where}}${window}))`;
const quantile = (share: number, metric: string, by = ""): string =>
  `histogram_quantile(${share}, ${rate(`${metric}_bucket`, by === "" ? "le" : `le, ${by}`)})`;
const sum = (metric: string, by: string, where = ""): string => `sum by (${by}) (${metric}{${scope}${where}})`;
const each = (metric: string, where = ""): string => `${metric}{${scope}${where}}`;

/** The dashboards by the component of the chart. */
export const dashboards: Readonly<Record<string, Dashboard>> = {
  gateway: {
    title: "Sluice gateway",
    presence: "sluice_node_info",
    panels: [
      {
        title: "Requests by status",
        unit: "reqps",
        lines: { "{{code}}": rate("sluice_http_requests_total", "code") },
      },
      {
        title: "Requests by route",
        unit: "reqps",
        lines: { "{{service}} {{route}}": rate("sluice_http_requests_total", "service, route") },
      },
      {
        title: "Server errors, by source of the response",
        unit: "reqps",
        lines: { "{{source}} {{code}}": rate("sluice_http_requests_total", "source, code", ',code=~"5.."') },
      },
      {
        title: "Requests refused with 401, 403 or 429",
        unit: "reqps",
        lines: { "{{code}} {{route}}": rate("sluice_http_requests_total", "code, route", ',code=~"401|403|429"') },
      },
      {
        title: "Latency of requests",
        unit: "ms",
        lines: {
          "50 %": quantile(0.5, "sluice_request_latency_ms"),
          "99 %": quantile(0.99, "sluice_request_latency_ms"),
          "99 %, gateway": quantile(0.99, "sluice_gateway_latency_ms"),
          "99 %, upstream": quantile(0.99, "sluice_upstream_latency_ms"),
        },
      },
      {
        title: "Latency by route, 95 %",
        unit: "ms",
        lines: { "{{service}} {{route}}": quantile(0.95, "sluice_request_latency_ms", "service, route") },
      },
      {
        title: "GraphQL operations (with the plugin graphql)",
        unit: "ops",
        lines: {
          "{{service}} {{operation}} {{hash}}": rate("sluice_graphql_requests_total", "service, operation, hash"),
        },
      },
      {
        title: "GraphQL operations that failed, including those with status 200",
        unit: "ops",
        lines: {
          "{{service}} {{operation}} {{hash}}": rate(
            "sluice_graphql_requests_total",
            "service, operation, hash",
            ',result="error"',
          ),
        },
      },
      {
        title: "Duration of GraphQL operations, 95 %",
        unit: "s",
        lines: { "{{service}} {{operation}}": quantile(0.95, "sluice_graphql_duration_seconds", "service, operation") },
      },
      {
        title: "GraphQL requests refused by the limits of graphql",
        unit: "ops",
        lines: { "{{service}} {{code}} {{limit}}": rate("sluice_graphql_refused_total", "service, code, limit") },
      },
      {
        title: "Bandwidth",
        unit: "Bps",
        lines: { "{{direction}}": rate("sluice_bandwidth_bytes", "direction") },
      },
      {
        title: "All requests, including those without a route",
        unit: "reqps",
        lines: { "{{pod}}": rate("sluice_requests_received", "pod") },
      },
      {
        title: "Client connections",
        unit: "short",
        lines: { "{{pod}}": sum("sluice_connections", "pod", ',state="active"') },
      },
      { title: "Revision of the document", unit: "short", lines: { "{{pod}}": each("sluice_config_info") } },
      {
        title: "Configuration source reachable",
        unit: "short",
        lines: { "{{pod}}": each("sluice_datastore_reachable") },
      },
      { title: "Entities", unit: "short", lines: { "{{kind}}": `max by (kind) (${each("sluice_entities")})` } },
      {
        title: "Targets by health",
        unit: "short",
        lines: { "{{upstream}} {{state}}": sum("sluice_upstream_target_health", "upstream, state") },
      },
      { title: "Memory", unit: "bytes", lines: { "{{pod}}": each("sluice_memory_bytes", ',kind="rss"') } },
      {
        title: "Time until certificates expire",
        unit: "s",
        lines: {
          "{{server_name}}": `min by (server_name) (${each("sluice_certificate_expiry_timestamp_seconds")}) - time()`,
        },
      },
    ],
  },
  operator: {
    title: "Sluice operator",
    presence: "sluice_operator_revision",
    panels: [
      { title: "Leader (1), others (0)", unit: "short", lines: { "{{pod}}": each("leader_election_master_status") } },
      {
        title: "Gateway nodes by state",
        unit: "short",
        lines: { "{{state}}": `max by (state) (${each("sluice_operator_nodes")})` },
      },
      {
        title: "Resources with problems",
        unit: "short",
        lines: { "{{pod}}": each("sluice_operator_resources_with_problems") },
      },
      {
        title: "Resources",
        unit: "short",
        lines: { "{{kind}}": `max by (kind) (${each("sluice_operator_resources")})` },
      },
      {
        title: "Time to translate and publish, 99 %",
        unit: "s",
        lines: { "{{pod}}": quantile(0.99, "sluice_operator_reconcile_seconds", "pod") },
      },
      {
        title: "Time of a push to a node, 99 %",
        unit: "s",
        lines: { "{{outcome}}": quantile(0.99, "sluice_operator_push_seconds", "outcome") },
      },
      { title: "Revision", unit: "short", lines: { "{{pod}}": each("sluice_operator_revision") } },
      {
        title: "Writes of conditions",
        unit: "ops",
        lines: { "{{outcome}}": rate("sluice_operator_status_writes_total", "outcome") },
      },
      {
        title: "Age of the saved state",
        unit: "s",
        lines: { leader: `time() - max(${each("sluice_operator_document_kept_timestamp_seconds")} > 0)` },
      },
      {
        title: "Requests to the API server",
        unit: "reqps",
        lines: { "{{method}} {{code}}": rate("rest_client_requests_total", "method, code") },
      },
      {
        title: "Time until push and webhook certificates expire",
        unit: "s",
        lines: {
          "{{certificate}}": `min by (certificate) (${each("sluice_operator_certificate_expiry_timestamp_seconds")}) - time()`,
        },
      },
      { title: "Queued items", unit: "short", lines: { "{{name}}": sum("workqueue_depth", "name") } },
      {
        title: "Memory",
        unit: "bytes",
        lines: { "{{pod}}": each("process_resident_memory_bytes", ',job=~".*-operator"') },
      },
    ],
  },
  "user-api": {
    title: "Sluice user API",
    presence: "sluice_user_api_events_connected",
    panels: [
      {
        title: "Operations",
        unit: "ops",
        lines: { "{{type}} {{outcome}}": rate("sluice_user_api_operations_total", "type, outcome") },
      },
      {
        title: "Operations by name",
        unit: "ops",
        lines: { "{{operation}}": rate("sluice_user_api_operations_total", "operation") },
      },
      {
        title: "Time of operations, 99 %",
        unit: "s",
        lines: { "{{type}}": quantile(0.99, "sluice_user_api_operation_seconds", "type") },
      },
      { title: "Errors", unit: "ops", lines: { "{{code}}": rate("sluice_user_api_errors_total", "code") } },
      {
        title: "Operations by field",
        unit: "ops",
        lines: { "{{field}}": rate("sluice_user_api_fields_total", "field") },
      },
      {
        title: "Refused by the rate limit",
        unit: "ops",
        lines: { "{{pod}}": rate("sluice_user_api_rate_limited_total", "pod") },
      },
      {
        title: "Open sockets, streams and subscriptions",
        unit: "short",
        lines: { "{{kind}}": sum("sluice_user_api_live", "kind") },
      },
      {
        title: "Operations and connections ended because the client is slow",
        unit: "ops",
        lines: { "{{pod}}": rate("sluice_user_api_slow_consumers_total", "pod") },
      },
      {
        title: "Notifications between replicas (1: connected)",
        unit: "short",
        lines: { "{{pod}}": each("sluice_user_api_events_connected") },
      },
    ],
  },
};

const source = { type: "prometheus", uid: "$datasource" };

/** A panel in Grafana's form and at its place: two panels fill the 24 columns of a row. */
function panelOf({ title, unit, lines }: Panel, index: number): object {
  return {
    id: index + 1,
    type: "timeseries",
    title,
    datasource: source,
    gridPos: { x: (index % 2) * 12, y: Math.floor(index / 2) * 8, w: 12, h: 8 },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(lines).map(([legendFormat, expr], line) => ({
      refId: String.fromCharCode(65 + line),
      datasource: source,
      expr,
      legendFormat,
    })),
  };
}

/** The dashboards as files of the chart. */
export function dashboardFiles(): readonly GeneratedFile[] {
  return Object.entries(dashboards).map(([component, { title, presence, panels }]) => ({
    path: `charts/sluice/files/dashboards/${component}.json`,
    content: printJson({
      uid: `sluice-${component}`,
      title,
      tags: ["sluice"],
      schemaVersion: 39,
      refresh: "30s",
      time: { from: "now-1h", to: "now" },
      templating: {
        list: [
          { name: "datasource", type: "datasource", query: "prometheus" },
          {
            name: "namespace",
            type: "query",
            datasource: source,
            query: `label_values(${presence}, namespace)`,
            refresh: 2,
            multi: true,
            includeAll: true,
          },
        ],
      },
      panels: panels.map(panelOf),
    }),
  }));
}
