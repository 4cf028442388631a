/** The alert rules in promtool: each alert fires for its cause, and no alert fires without one. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { stringify } from "yaml";
import { rulesFile } from "../../../tools/generate/alerts/alert-files.ts";
import { alertRulesFor } from "../../../tools/generate/alerts/alert-rules.ts";
import { expressionFaults, knownSeries } from "../../../tools/generate/alerts/promql.ts";
import { startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { healthySeries, type RuleCase, ruleCases, type SeriesValues } from "./rule-cases.ts";

const promtool = await obtainTool("promtool");
const folder = temporaryFolder("prometheus-rules");
after(folder.remove);

/** Adds the labels that Prometheus adds to the series of a pod. */
function inNamespace(series: string, namespace: string): string {
  const target = `namespace="${namespace}",pod="p1",instance="10.0.0.1:80",job="sluice"`;
  return series.endsWith("}") ? `${series.slice(0, -1)},${target}}` : `${series}{${target}}`;
}

const inputOf = (series: SeriesValues, namespace: string): readonly object[] =>
  Object.entries(series)
    .filter(([, values]) => values !== "")
    .map(([name, values]) => ({ series: inNamespace(name, namespace), values }));

interface Expectation {
  readonly series: SeriesValues;
  readonly at: string;
  /** The alert that fires; null: none. */
  readonly alert: string | null;
  readonly severity?: string;
}

const testOf = ({ series, at, alert, severity }: Expectation, others: SeriesValues) => ({
  interval: "1m",
  input_series: [...inputOf({ ...healthySeries, ...series }, "sluice"), ...inputOf(others, "other")],
  promql_expr_test: [
    {
      expr: 'count by (alertname, severity) (ALERTS{alertstate="firing"})',
      eval_time: at,
      exp_samples: alert === null ? [] : [{ labels: `{alertname="${alert}", severity="${severity}"}`, value: 1 }],
    },
  ],
});

async function run(...args: readonly string[]): Promise<void> {
  const process = await startProcess(promtool, args, { name: "promtool" });
  const { code } = await process.ended();
  assert.equal(code, 0, process.tail(60));
}

/** The series of all cases in which an operator runs. */
const allFaults: SeriesValues = Object.assign(
  {},
  ...ruleCases.filter(({ onlyInNamespace }) => !onlyInNamespace).map(({ series }) => series),
);

for (const namespace of [null, "sluice"]) {
  const options = { namespace, objective: "99.9" };
  const { alerts } = alertRulesFor(options);
  const file = join(folder.path, `rules-${namespace}.yaml`);
  writeFileSync(file, rulesFile({ ...options, runbooks: "https://docs.example/alerts.md" }));
  const severityOf = (alert: string) => alerts.find((rule) => rule.alert === alert)?.severity ?? assert.fail(alert);
  let number = 0;
  async function check(expected: Expectation, others: SeriesValues = {}): Promise<void> {
    number += 1;
    const tests = join(folder.path, `test-${namespace}-${number}.yaml`);
    // Days are evaluated in larger steps, which takes a second instead of half a minute.
    const interval = expected.at.endsWith("h") ? "15m" : "1m";
    const content = {
      rule_files: [file],
      evaluation_interval: interval,
      group_eval_order: ["sluice-error-budget", "sluice-alerts"],
      tests: [testOf(expected, others)],
    };
    writeFileSync(tests, stringify(content));
    await run("test", "rules", tests);
  }
  const applicable = ({ onlyInNamespace }: RuleCase) => namespace !== null || onlyInNamespace === undefined;

  describe(namespace === null ? "the rules file" : "the rules of the chart", () => {
    test("is accepted by Prometheus", () => run("check", "rules", file));

    test("has a case for each alert", () =>
      assert.deepEqual(
        new Set(ruleCases.filter(applicable).map(({ alert }) => alert)),
        new Set(alerts.map(({ alert }) => alert)),
      ));

    test("fires no alert in a healthy installation", () => check({ series: {}, at: "98h", alert: null }));

    for (const { alert, what, series, at } of ruleCases.filter(applicable))
      test(`fires ${alert}: ${what}`, () => check({ series, at, alert, severity: severityOf(alert) }));

    if (namespace !== null)
      test("fires no alert for an installation in another namespace", () =>
        check({ series: {}, at: "30m", alert: null }, { ...healthySeries, ...allFaults }));
  });
}

test("every series of the cases has the name and the labels of a registered metric", () => {
  const known = knownSeries(["gateway", "operator"]);
  const names = new Set(
    [healthySeries, ...ruleCases.map(({ series }) => series)].flatMap((series) => Object.keys(series)),
  );
  assert.deepEqual(
    [...names].flatMap((name) => expressionFaults(name, known)),
    [],
  );
});
