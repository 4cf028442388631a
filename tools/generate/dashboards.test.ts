import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Registry } from "prom-client";
import { createMetrics } from "../../gateway/src/metrics/metrics.ts";
import { createOperatorMetrics, createRestMetrics, registerOperatorGauges } from "../../operator/src/metrics.ts";
import { makeMetrics } from "../../user-api/src/operations/metrics.ts";
import { type Dashboard, dashboards } from "./dashboards.ts";

const namesIn = async (registry: Registry) => (await registry.getMetricsAsJSON()).map(({ name }) => name);

/** The names of the metrics of each component. */
const measured: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  async gateway() {
    const { tables } = createMetrics({ compat: false, nodeId: "node", version: "0.0.0" });
    return tables.map(({ shape }) => shape.name);
  },
  async operator() {
    const registry = new Registry();
    const none = () => 0;
    createOperatorMetrics(registry);
    registerOperatorGauges(registry, {
      revision: none,
      resources: () => ({}),
      problems: none,
      document: { queued: none, workers: 1 },
      status: { queued: none, workers: 1 },
      lease: "sluice-operator",
      term: () => null,
      savedAt: () => null,
      nodes: () => ({ current: 0, lagging: 0, silent: 0 }),
    });
    createRestMetrics(registry);
    return namesIn(registry);
  },
  "user-api"() {
    const registry = new Registry();
    const subscriptions = () => ({ sockets: 0, streams: 0, subscriptions: 0, slow: 0 });
    makeMetrics({ registry, subscriptions, events: { health: () => ({ through: "process", connected: true }) } });
    return namesIn(registry);
  },
};

/** The names of the metrics that a dashboard uses: in its queries, the words before a selector. */
const metricsOf = ({ panels, presence }: Dashboard): readonly string[] => [
  presence,
  ...panels
    .flatMap(({ lines }) => Object.values(lines))
    .flatMap((query) => [...query.matchAll(/([a-z_]+)\{/g)].map(([, name = ""]) => name.replace(/_bucket$/, ""))),
];

describe("dashboards", () => {
  for (const [component, dashboard] of Object.entries(dashboards))
    test(`the dashboard of ${component} shows only metrics of ${component}`, async () => {
      const known = new Set(await measured[component]?.());
      const shown = metricsOf(dashboard);
      assert.ok(shown.length > dashboard.panels.length);
      assert.deepEqual(
        shown.filter((name) => !known.has(name)),
        [],
      );
    });
});
