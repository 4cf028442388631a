/** ServiceMonitors and alert rules for Prometheus, and dashboards for Grafana, equal to the chart's. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { KubernetesObject } from "./create.ts";
import { metadataOf, nodeSelectorOf, type Release, selectorOf } from "./names.ts";

/** By part: the name of the port of its Service that serves metrics. */
const ports = { gateway: "status", operator: "http", "user-api": "http" } as const;

export function monitoringObjects(release: Release, component: keyof typeof ports): readonly KubernetesObject[] {
  const { serviceMonitors, rules, dashboards } = release.values.monitoring;
  return [
    ...(rules.enabled && component === "operator" ? [prometheusRule(release)] : []),
    ...(serviceMonitors.enabled ? [serviceMonitor(release, component)] : []),
    ...(dashboards.enabled ? [dashboard(release, component)] : []),
  ];
}

function serviceMonitor(release: Release, component: keyof typeof ports): KubernetesObject {
  const { labels, interval } = release.values.monitoring.serviceMonitors;
  const metadata = metadataOf(release, component);
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "ServiceMonitor",
    metadata: { ...metadata, labels: { ...metadata.labels, ...labels } },
    spec: {
      selector: component === "gateway" ? nodeSelectorOf(release) : { matchLabels: selectorOf(release, component) },
      endpoints: [
        {
          port: ports[component],
          path: "/metrics",
          // Sluice's own metrics have a label `service`, which Prometheus would otherwise rename.
          ...(component === "gateway" ? { honorLabels: true } : {}),
          interval,
        },
      ],
    },
  };
}

function prometheusRule(release: Release): KubernetesObject {
  const { labels, objective, runbooks } = release.values.monitoring.rules;
  const metadata = metadataOf(release, "operator", "-rules");
  const text = readFileSync(new URL("../../charts/sluice/files/rules.yaml", import.meta.url), "utf8")
    .replaceAll("$namespace", () => release.namespace)
    .replaceAll("$objective", () => String(objective))
    .replaceAll("$runbooks", () => runbooks);
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { ...metadata, labels: { ...metadata.labels, ...labels } },
    spec: parse(text) as object,
  };
}

function dashboard(release: Release, component: string): KubernetesObject {
  const file = new URL(`../../charts/sluice/files/dashboards/${component}.json`, import.meta.url);
  const metadata = metadataOf(release, component, "-dashboard");
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...metadata, labels: { ...metadata.labels, ...release.values.monitoring.dashboards.labels } },
    data: { [`sluice-${component}.json`]: `${readFileSync(file, "utf8").trim()}\n` },
  };
}
