/** A real Prometheus, which scrapes a real node and evaluates the rules file. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { stringify } from "yaml";
import { startFileNode } from "../../../gateway/src/testing-file-node.ts";
import { rulesFile } from "../../../tools/generate/alerts/alert-files.ts";
import { freePort, startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";

const DAY = 24 * 60 * 60 * 1000;

interface FiringAlert {
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface RuleStatus {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
}

/** @param folder Where the files are written. */
async function startPrometheus(context: TestContext, folder: string, target: string) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const rules = rulesFile({ namespace: null, objective: "99.9", runbooks: "docs/reference/alerts.md" });
  // Alerts fire at once, because the test cannot wait for minutes.
  writeFileSync(join(folder, "rules.yaml"), rules.replaceAll(/^( +for:) .*$/gm, "$1 0s"));
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [join(folder, "rules.yaml")],
    scrape_configs: [{ job_name: "gateway", honor_labels: true, static_configs: [{ targets: [target] }] }],
  };
  writeFileSync(join(folder, "prometheus.yaml"), stringify(config));
  const server = await startProcess(
    await obtainTool("prometheus"),
    [
      `--config.file=${join(folder, "prometheus.yaml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { name: "prometheus", ready: `${url}/-/ready`, timeout: 120_000 },
  );
  context.after(() => server.stop());
  const get = async <Data>(path: string): Promise<Data> =>
    ((await (await fetch(`${url}/api/v1/${path}`)).json()) as { readonly data: Data }).data;
  return {
    async firing(): Promise<readonly FiringAlert[]> {
      const { alerts } = await get<{ readonly alerts: readonly FiringAlert[] }>("alerts");
      return alerts.filter(({ state }) => state === "firing");
    },
    async rules(): Promise<readonly RuleStatus[]> {
      const { groups } = await get<{ readonly groups: readonly { readonly rules: readonly RuleStatus[] }[] }>("rules");
      return groups.flatMap(({ rules }) => rules);
    },
    query: (expression: string) =>
      get<{ readonly result: readonly { readonly value: readonly [number, string] }[] }>(
        `query?query=${encodeURIComponent(expression)}`,
      ),
  };
}

test("Prometheus fires the alerts of a node that refuses its configuration and serves an old certificate, and ends these alerts when the node has recovered", async (context) => {
  const folder = temporaryFolder("prometheus");
  context.after(() => folder.remove());
  const authority = await makeAuthority("authority", { notAfter: new Date(Date.now() + 100 * DAY) });
  const file = join(folder.path, "sluice.json");
  async function write(days: number, rest: object = {}): Promise<void> {
    const { certificate: cert, key } = await authority.issue({
      name: "a.example",
      sans: ["a.example"],
      usage: "server",
      notAfter: new Date(Date.now() + days * DAY),
    });
    const services = [{ name: "none", url: "http://none.example", routes: [{ name: "all", paths: ["/"] }] }];
    const plugins = [
      { name: "request-termination", config: { status_code: 503 } },
      { name: "prometheus", config: { status_code_metrics: true, latency_metrics: true } },
    ];
    const certificates = [{ cert, key, snis: [{ name: "a.example" }] }];
    writeFileSync(file, JSON.stringify({ _format_version: "3.0", services, plugins, certificates, ...rest }));
  }
  await write(90);
  const { node, proxy, status } = await startFileNode({ file, env: { SLUICE_LOG_LEVEL: "error" } });
  context.after(() => node.stop());
  const prometheus = await startPrometheus(context, folder.path, `127.0.0.1:${status}`);
  const names = async () => (await prometheus.firing()).map(({ labels }) => labels.alertname).toSorted();

  await waitFor(async () => (await prometheus.query("sluice_node_info")).result.length === 1, {
    what: "Prometheus to scrape the node",
  });
  await waitFor(async () => (await prometheus.rules()).every(({ health }) => health === "ok"), {
    what: "all rules to be evaluated without an error",
  });
  assert.deepEqual(await names(), []);

  await write(5);
  await waitFor(async () => (await names()).includes("SluiceCertificateExpires"), { what: "the certificate's alert" });
  await write(5, { services: "none" });
  await waitFor(async () => (await names()).includes("SluiceConfigurationRefused"), { what: "the node's alert" });
  const [expiring] = (await prometheus.firing()).filter(
    ({ labels }) => labels.alertname === "SluiceCertificateExpires",
  );
  assert.match(expiring?.annotations.summary ?? "", /^The certificate of a\.example expires in 4d 23h/);
  assert.equal(expiring?.annotations.runbook_url, "docs/reference/alerts.md#sluicecertificateexpires");

  await write(90);
  await waitFor(async () => (await names()).length === 0, { what: "the alerts to end" });

  const request = () => fetch(`http://127.0.0.1:${proxy}/`).then(({ status }) => assert.equal(status, 503));
  await request();
  await waitFor(
    async () => {
      await request();
      return (await names()).includes("SluiceErrorBudgetBurnsFast");
    },
    { what: "the alert about failed requests" },
  );
});
