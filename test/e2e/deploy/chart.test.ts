/**
 * The chart, rendered by the real Helm without a cluster. The goldens are in test/golden/chart; to update them:
 *
 *     node test/e2e/deploy/chart.test.ts --write
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { refusedValues } from "./chart-refused.ts";
import { chartCases, chartGoldens, goldenOf, goldenText, renderCase, titleOfCase } from "./goldens.ts";
import { charts, type RenderedChart, release, render, runHelm } from "./helm.ts";

const byDefault = await renderCase("default");

if (process.argv.includes("--write")) {
  for (const name of chartCases) writeFileSync(goldenOf(name), await goldenText(name, byDefault));
} else {
  for (const name of chartCases)
    test(`golden ${name}: ${titleOfCase(name)}`, async () => {
      assert.ok(existsSync(goldenOf(name)), "the golden is missing: node test/e2e/deploy/chart.test.ts --write");
      const text = await goldenText(name, byDefault);
      assert.equal(
        text,
        readFileSync(goldenOf(name), "utf8"),
        "if this change is intended: node test/e2e/deploy/chart.test.ts --write",
      );
    });

  test("every golden has a file of values", () => {
    const outputs = readdirSync(chartGoldens).filter((file) => file.endsWith(".out.yaml"));
    assert.deepEqual(outputs.sort(), chartCases.map((name) => `${name}.out.yaml`).sort());
  });

  for (const [name, chart] of Object.entries(charts))
    test(`helm lint finds no fault in ${name}`, async () => {
      const { code, stdout, stderr } = await runHelm(["lint", "--strict", chart]);
      assert.equal(code, 0, stdout + stderr);
    });

  describe("values and release names", refusedValues);

  test("Secrets differ in every release", async () => {
    const secretsOf = (objects: readonly RenderedChart[]) => objects.filter(({ kind }) => kind === "Secret");
    const [first, second] = [secretsOf(byDefault), secretsOf(await renderCase("default"))];
    assert.equal(first.length, 3);
    for (const [index, { data, metadata }] of first.entries())
      assert.notDeepEqual(data, second[index]?.data, metadata.name);
  });

  test("the digest of an image replaces its tag, even if a registry is set", async () => {
    const digest = `sha256:${"0".repeat(64)}`;
    const values = ["--set", `image.registry=images.example.com,operator.image.digest=${digest}`];
    const operator = (await render({ values })).find(
      ({ kind, metadata: { name } }) => `${kind}/${name}` === "Deployment/sluice-operator",
    );
    assert.match(JSON.stringify(operator), new RegExp(`"image":"images.example.com/sluice/operator@${digest}"`));
  });

  for (const name of chartCases)
    test(`golden ${name}: only the pods of the operator and the admin API have a Kubernetes token`, async () => {
      const pods = (await renderCase(name)).flatMap(podsIn);
      assert.ok(pods.length > 0);
      for (const { owner, spec } of pods) {
        const mayAsk = [`${release}-operator`, `${release}-admin`].includes(owner);
        assert.equal(spec.automountServiceAccountToken, mayAsk, owner);
      }
    });

  test("golden namespaced: no object is cluster-scoped", async () => {
    const unscoped = (await renderCase("namespaced")).filter(({ metadata }) => metadata.namespace === undefined);
    assert.deepEqual(unscoped, []);
  });

  test("golden production: every pod has a NetworkPolicy", async () => {
    const objects = await renderCase("production");
    const policies = objects.filter(({ kind }) => kind === "NetworkPolicy").map(({ metadata }) => metadata.name);
    assert.deepEqual([...new Set(objects.flatMap(podsIn).map(({ owner }) => owner))].sort(), policies.sort());
  });

  for (const [what, values, expected] of [
    ["disabled NetworkPolicies", [], /^Every pod of the cluster can connect to every part/m],
    [
      "the Secrets that the admin API can read if it has only Roles",
      ["namespaces={shop}"],
      /^The admin API can read the keys that sign/m,
    ],
  ] as const)
    test(`the notes warn of ${what}`, async () => {
      assert.match(await notesOf(...values), expected);
      const set = ["networkPolicies.enabled=true", "operator.privateNamespace.name=keys"];
      assert.doesNotMatch(await notesOf(...values, ...set), expected);
    });

  for (const [what, values, expected] of [
    ["the IngressClass", ["class=edge", "ingressClass.name=public"], "public"],
    ["the class of the installation if it has only Roles", ["class=edge", "namespaces={shop}"], "edge"],
  ] as const)
    test(`the notes name the class of Ingresses: ${what}`, async () => {
      const [, found] = /^Ingresses: .* spec\.ingressClassName: (.+)$/m.exec(await notesOf(...values)) ?? [];
      assert.equal(found, expected);
    });

  for (const name of chartCases.filter((one) => one !== "namespaced"))
    test(`golden ${name}: the admin API has no right to the operator's own Secrets`, async () => {
      const roles = (await renderCase(name)).filter(({ kind }) => /^(Cluster)?Role$/.test(kind));
      const placesOf = (isMeant: (role: RenderedChart, names: string) => boolean) =>
        roles.flatMap((role) =>
          (role.rules as readonly { resources: readonly string[]; resourceNames?: readonly string[] }[])
            .filter(
              ({ resources, resourceNames = [] }) => resources.includes("secrets") && isMeant(role, `${resourceNames}`),
            )
            .map(() => role.metadata.namespace),
        );
      const own = `sluice-${release}-keys`;
      const isAdmins = ({ metadata }: RenderedChart) => metadata.name.endsWith("-admin");
      for (const secret of [/^sluice-operator(-edge)?-document$/, /^sluice-sluice-webhook$/])
        assert.ok(placesOf((_, names) => secret.test(names)).includes(own), `${secret}`);
      assert.deepEqual(
        [...new Set(placesOf(isAdmins))].filter((place) => place !== "sluice"),
        [],
      );
    });

  test("the operator may read IngressClasses without a webhook too, and then has no right to a webhook's configuration", async () => {
    const resourcesOf = async (...values: readonly string[]) => {
      const objects = await render({ values });
      return objects
        .filter(({ kind, metadata }) => kind === "ClusterRole" && metadata.name.endsWith("-operator"))
        .flatMap(({ rules }) =>
          (rules as readonly { resources: readonly string[] }[]).flatMap((rule) => rule.resources),
        );
    };
    const [withWebhook, without] = [await resourcesOf(), await resourcesOf("--set", "webhook.enabled=false")];
    const clusterScoped = ["ingressclasses", "gatewayclasses", "gatewayclasses/status", "namespaces"];
    assert.deepEqual(withWebhook.slice(-5), [...clusterScoped, "validatingwebhookconfigurations"]);
    assert.deepEqual(without, withWebhook.slice(0, -1));
  });

  for (const [file, object, count] of [
    ["operator-role.yaml", "operator", 3],
    ["admin-role.yaml", "admin", 2],
  ] as const)
    test(`golden production: the rules of sluice-${object} have verbs as in ${file}, and have no wildcards`, async () => {
      const roles = (await renderCase("production")).filter(
        ({ kind, metadata }) => /^(Cluster)?Role$/.test(kind) && metadata.name.endsWith(`${release}-${object}`),
      );
      assert.equal(roles.length, count);
      const text = readFileSync(join(charts.sluice, "files", file), "utf8");
      for (const { rules } of roles) {
        assert.doesNotMatch(JSON.stringify(rules), /"\*"/);
        for (const { verbs } of rules as readonly { verbs: readonly string[] }[])
          assert.ok(text.includes(`verbs: [${verbs.join(", ")}]`), verbs.join());
      }
    });
}

/** The notes that an installation with these values prints. */
async function notesOf(...values: readonly string[]): Promise<string> {
  const sets = values.flatMap((value) => ["--set", value]);
  const { code, stdout, stderr } = await runHelm(["install", release, charts.sluice, "--dry-run=client", ...sets]);
  assert.equal(code, 0, stderr);
  return stdout.slice(stdout.indexOf("NOTES:"));
}

interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
}

/** The pod of an object's template, or the object itself if it is a pod. An empty list if the object is neither. */
function podsIn({
  kind,
  metadata,
  spec,
}: RenderedChart): readonly { readonly owner: string; readonly spec: PodSpec }[] {
  if (kind === "Pod") return [{ owner: metadata.name, spec: spec as PodSpec }];
  const { template } = (spec ?? {}) as { template?: { spec: PodSpec } };
  return template ? [{ owner: metadata.name, spec: template.spec }] : [];
}
