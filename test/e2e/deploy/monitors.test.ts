/** The chart's ServiceMonitors and alert rules, validated by the Prometheus Operator's CRDs. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { charts, type RenderedChart, release, render, runHelm } from "./helm.ts";

const monitored = ["--set", "monitoring.serviceMonitors.enabled=true"];
const labelled = [...monitored, "--set", "monitoring.serviceMonitors.labels.release=prometheus"];
const frequent = [...monitored, "--set", "monitoring.serviceMonitors.interval=500ms"];
const small = [...monitored, "--set", "userApi.enabled=false"];

let plane: ControlPlane;
before(async () => {
  plane = await startControlPlane();
  await plane.kubectl(["create", "namespace", "sluice"]);
  const crds = [
    join(repositoryRoot, "crds"),
    await obtainTool("service-monitor-crd"),
    await obtainTool("prometheus-rule-crd"),
  ];
  await plane.kubectl(["apply", "--server-side", ...crds.flatMap((path) => ["-f", path])]);
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => plane.kubectl(["get", "sluice,servicemonitors,prometheusrules", "--all-namespaces"]), {
    what: "the new kinds to be served",
  });
});
after(() => plane?.stop());

/** Creates the objects in a dry run. Unknown members are errors, because the API server would not store them. */
const create = (items: readonly object[]) =>
  plane.kubectl(
    ["create", "--namespace=sluice", "--dry-run=server", "--validate=strict", "--output=name", "-f", "-"],
    JSON.stringify({ apiVersion: "v1", kind: "List", items }),
  );

const monitors = async (values: readonly string[]): Promise<readonly RenderedChart[]> =>
  (await render({ values })).filter(({ kind }) => kind === "ServiceMonitor");

for (const [what, values, count] of [
  ["with default values", monitored, 3],
  ["with labels by which Prometheus selects them", labelled, 3],
  ["with an interval of 500 ms", frequent, 3],
  ["without a user API", small, 2],
] as const)
  test(`the API server accepts the chart's ServiceMonitors ${what}`, async () => {
    const names = (await create(await monitors(values))).trim().split("\n");
    assert.equal(names.length, count, names.join());
  });

for (const namespace of ["sluice", "2024"])
  test(`the API server accepts the chart's alert rules for a release in the namespace ${namespace}`, async () => {
    const given = { enabled: true, objective: 99.5, labels: { release: "prometheus" } };
    const values = ["--set-json", `monitoring.rules=${JSON.stringify(given)}`];
    const rendered = await render({ values, namespace });
    const rules = rendered.filter(({ kind }) => kind === "PrometheusRule");
    assert.match(JSON.stringify(rules), /"expr":"vector\(1 - 99\.5 \/ 100\)","labels":\{"namespace":"(sluice|2024)"\}/);
    const placed = rules.map(({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, namespace: "sluice" } }));
    assert.equal((await create(placed)).trim(), "prometheusrule.monitoring.coreos.com/sluice-operator-rules");
  });

test("Helm accepts ServiceMonitors in a dry run if their CRD exists", async () => {
  const args = ["install", release, charts.sluice, "-n", "sluice", "--dry-run=server", ...monitored];
  const { code, stderr } = await runHelm(args, plane.kubeconfig);
  assert.equal(code, 0, stderr);
});

/** Invalid changes to the first endpoint of a ServiceMonitor. */
for (const [change, fault] of [
  [{ interval: "30 seconds" }, /spec\.endpoints\[0\]\.interval.* should match/],
  [{ pth: "/metrics" }, /unknown field "(spec\.endpoints\[0\]\.)?pth"/],
  [{ honorLabels: "true" }, /honorLabels.*boolean/],
] as const)
  test(`the API server refuses a ServiceMonitor with ${JSON.stringify(change)}`, async () => {
    const [monitor] = await monitors(monitored);
    assert.ok(monitor);
    const { endpoints, ...spec } = monitor.spec as { readonly endpoints: readonly object[] };
    const faulty = { ...monitor, spec: { ...spec, endpoints: [{ ...endpoints[0], ...change }] } };
    await assert.rejects(create([faulty]), fault);
  });
