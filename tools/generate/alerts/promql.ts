/** Compares PromQL expressions with the registered metrics. */
import { parser } from "@prometheus-io/lezer-promql";
import { type MeasuredComponent, type RegisteredMetric, registeredMetrics } from "../registered-metrics.ts";

/** Labels that Prometheus adds to the series of a target. */
const TARGET_LABELS = ["namespace", "pod", "instance", "job"];

const SERIES_OF_HISTOGRAM = /_(bucket|sum|count)$/;

export interface KnownSeries {
  /** The labels of a series; undefined: no metric has such a series. */
  labelsOf(name: string): readonly string[] | undefined;
}

/** @param recorded Names of recording rules, whose series have only labels of the target. */
export function knownSeries(components: readonly MeasuredComponent[], recorded: readonly string[] = []): KnownSeries {
  const metrics = new Map<string, RegisteredMetric>();
  for (const component of components) {
    for (const metric of registeredMetrics[component]) {
      // Metrics of the process have further labels on nodes.
      const labels = [...(metrics.get(metric.name)?.labels ?? []), ...metric.labels];
      metrics.set(metric.name, { ...metric, labels });
    }
  }
  return {
    labelsOf(name) {
      if (recorded.includes(name)) return TARGET_LABELS;
      const metric = metrics.get(name);
      if (metric !== undefined) return metric.type === "histogram" ? undefined : [...TARGET_LABELS, ...metric.labels];
      const histogram = metrics.get(name.replace(SERIES_OF_HISTOGRAM, ""));
      if (histogram?.type !== "histogram") return undefined;
      return [...TARGET_LABELS, ...histogram.labels, ...(name.endsWith("_bucket") ? ["le"] : [])];
    },
  };
}

/** Every error of an expression: its syntax, unknown metrics, and labels that its metrics do not have. */
export function expressionFaults(expression: string, known: KnownSeries): readonly string[] {
  const faults: string[] = [];
  /** Labels of the series in the expression, for its groupings. */
  const labels = new Set<string>(TARGET_LABELS);
  const groupings: string[] = [];
  /** Labels of the selector that is being read. */
  let own: readonly string[] = [];
  parser.parse(expression).iterate({
    enter(node) {
      const { name, type, from, to } = node;
      const text = expression.slice(from, to);
      if (type.isError) faults.push(`syntax error at ${from}: ${expression}`);
      if (name === "Identifier" && node.matchContext(["VectorSelector"])) {
        const found = known.labelsOf(text);
        if (found === undefined) faults.push(`no such metric: ${text}`);
        own = found ?? [];
        for (const label of own) labels.add(label);
      }
      if (name !== "LabelName") return;
      if (node.matchContext(["GroupingLabels"])) groupings.push(text);
      else if (!own.includes(text)) faults.push(`no such label: ${text} in ${expression}`);
    },
  });
  return [...faults, ...groupings.filter((label) => !labels.has(label)).map((label) => `no such label: ${label}`)];
}
