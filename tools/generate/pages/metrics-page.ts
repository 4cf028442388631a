/** The reference page of all metrics, from their registration. */
import { type GeneratedFile, generatedPage } from "../../../crds/model/src/generate/files.ts";
import { type MeasuredComponent, type RegisteredMetric, registeredMetrics } from "../registered-metrics.ts";

const listeners: Readonly<Record<MeasuredComponent, { readonly title: string; readonly text: string }>> = {
  gateway: {
    title: "Node",
    text:
      "`GET /metrics` of the status listener (`SLUICE_STATUS_LISTEN`). `GET /metrics` of the admin API " +
      "(`SLUICE_ADMIN_LISTEN`) returns the same metrics of all nodes: it adds up counters and histograms, and gives " +
      "gauges the label `node_id`. Only the admin API has `sluice_node_scraped`.\n\nMetrics of requests need the " +
      "plugin [prometheus](plugins/prometheus.md), whose config selects them. `<plugin>` stands for the name of a " +
      "plugin, with `_` instead of `-`. Plugins of your own may have further metrics. With `SLUICE_COMPAT=kong`, " +
      "metrics have the names in the last column.",
  },
  operator: { title: "Operator", text: "`GET /metrics` of `SLUICE_OPERATOR_LISTEN`." },
  "user-api": {
    title: "User API",
    text: "`GET /metrics` of `SLUICE_USER_API_LISTEN`. If this request comes through a gateway, it is answered with 404.",
  },
};

/** Units by the end of a metric's name, without `_total`. Prometheus' own metrics follow the same rule. */
const units: readonly (readonly [suffix: string, unit: string])[] = [
  ["_timestamp_seconds", "Unix time"],
  ["_time_seconds", "Unix time"],
  ["_reconcile_time_seconds", "seconds"],
  ["_seconds", "seconds"],
  ["_bytes", "bytes"],
  ["_ms", "milliseconds"],
  ["_info", ""],
];

function unitOf({ name, type }: RegisteredMetric): string {
  const plain = name.replace(/_total$/, "");
  const matching = units.filter(([suffix]) => plain.endsWith(suffix));
  const [, unit] = matching.toSorted(([one], [other]) => other.length - one.length)[0] ?? [];
  // A histogram or counter of durations has a unit of time.
  return unit ?? (type === "counter" ? "count" : "number");
}

function table(metrics: readonly RegisteredMetric[], hasKongNames: boolean): string {
  const rows = metrics
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((metric) => {
      const { name, type, labels, help, kongName } = metric;
      const cells = [
        `\`${name}\``,
        type,
        unitOf(metric),
        labels.map((label) => `\`${label}\``).join(", "),
        help.replace(/\.$/, "").replaceAll("|", "\\|").replaceAll("<", "\\<"),
        ...(hasKongNames ? [kongName === undefined ? "" : `\`${kongName}\``] : []),
      ];
      return `| ${cells.join(" | ")} |`;
    });
  const head = ["metric", "type", "unit", "labels", "meaning", ...(hasKongNames ? ["with `SLUICE_COMPAT=kong`"] : [])];
  return `| ${head.join(" | ")} |\n|${"---|".repeat(head.length)}\n${rows.join("\n")}\n`;
}

export function metricsPage(): GeneratedFile {
  const sections = Object.entries(listeners).map(([component, { title, text }]) => {
    const metrics = registeredMetrics[component as MeasuredComponent];
    return `## ${title}\n\n${text}\n\n${table(metrics, component === "gateway")}`;
  });
  return generatedPage(
    "docs/reference/metrics.md",
    "# Metrics\n\nAll metrics are in Prometheus' text format. [Observe the gateway](../how-to/observe-the-gateway.md#metrics) " +
      "explains the most important ones; [Alerts](alerts.md) has rules for them. The " +
      "[glossary](../../ARCHITECTURE.md#glossary) defines terms such as node, worker and document. " +
      "A histogram has the series `_bucket`, " +
      `\`_sum\` and \`_count\`. The list shows the metrics on Linux; other systems lack some of the \`process_*\` metrics.\n\n${sections.join("\n")}`,
    "the registration of the metrics",
  );
}
