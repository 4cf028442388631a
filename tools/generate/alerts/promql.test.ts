import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { dashboards } from "../dashboards.ts";
import type { MeasuredComponent } from "../registered-metrics.ts";
import { alertRulesFor } from "./alert-rules.ts";
import { expressionFaults, knownSeries } from "./promql.ts";

const faulty: readonly (readonly [expression: string, faults: readonly (string | RegExp)[]])[] = [
  ['sum by (route) (rate(sluice_http_requests_total{code=~"5.."}[5m]))', []],
  ["histogram_quantile(0.9, sum by (le) (rate(sluice_request_latency_ms_bucket[5m])))", []],
  ["sluice_request_latency_ms", ["no such metric: sluice_request_latency_ms"]],
  ["sluice_http_request_total", ["no such metric: sluice_http_request_total"]],
  ['sluice_http_requests_total{status="500"}', [/^no such label: status in /]],
  ["sum by (status) (sluice_http_requests_total)", ["no such label: status"]],
  ["sum by (le) (sluice_request_latency_ms_count)", ["no such label: le"]],
  ["sluice_operator_term > 0 and ignoring (mode) sluice_operator_term", ["no such label: mode"]],
  ["sum(sluice_operator_term", [/^syntax error at /]],
];

for (const [expression, faults] of faulty)
  test(`the check of '${expression}' finds ${faults.length === 0 ? "nothing" : faults.join(", ")}`, () => {
    const found = expressionFaults(expression, knownSeries(["gateway", "operator"]));
    assert.equal(found.length, faults.length, found.join("\n"));
    for (const [at, fault] of faults.entries())
      if (fault instanceof RegExp) assert.match(found[at] ?? "", fault);
      else assert.equal(found[at], fault);
  });

describe("dashboards", () => {
  for (const [component, { presence, panels }] of Object.entries(dashboards))
    test(`the dashboard of ${component} shows only metrics and labels of ${component}`, () => {
      const expressions = [presence, ...panels.flatMap(({ lines }) => Object.values(lines))];
      const known = knownSeries([component as MeasuredComponent]);
      const plain = expressions.map((expression) => expression.replaceAll("$__rate_interval", "5m"));
      assert.deepEqual(
        plain.flatMap((expression) => expressionFaults(expression, known)),
        [],
      );
    });
});

describe("alert rules", () => {
  for (const namespace of [null, "sluice"]) {
    const { recording, alerts } = alertRulesFor({ namespace, objective: "99.9" });
    const known = knownSeries(
      ["gateway", "operator"],
      recording.map(({ record }) => record),
    );
    for (const { name, expr } of [
      ...recording.map(({ record, expr }) => ({ name: record, expr })),
      ...alerts.map(({ alert, expr }) => ({ name: alert, expr })),
    ])
      test(`${name} uses only registered metrics and labels ${namespace === null ? "" : "in one namespace"}`, () =>
        assert.deepEqual(expressionFaults(expr, known), []));

    test(`the templates in summaries name only labels that exist ${namespace === null ? "" : "in one namespace"}`, () => {
      const used = alerts.flatMap(({ summary, expr }) =>
        [...summary.matchAll(/\$labels\.(\w+)/g)].flatMap(([, label = ""]) =>
          [...expr.matchAll(/\b(sluice_\w+|nodejs_\w+|process_\w+)\b/g)]
            .filter(([metric]) => known.labelsOf(metric)?.includes(label) !== true)
            .map(([metric]) => `${metric} has no label ${label}`),
        ),
      );
      assert.deepEqual(used, []);
    });
  }
});
