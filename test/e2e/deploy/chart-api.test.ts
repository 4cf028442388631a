/** The charts on a real API server: server-side dry runs, and the tools that may install the CRDs. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { crdNames } from "@sluice/model";
import { builtProgram } from "../../../tools/build/programs.ts";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { startProcess, temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { chartCases, renderCase, valuesFileOf } from "./goldens.ts";
import { charts, type RenderedChart, release, runHelm } from "./helm.ts";
import { schemaLocation, writeSchemas } from "./schemas.ts";

// The cluster has no CRDs of the Prometheus operator, so kubeconform and the dry runs skip its kinds.
const foreign = "ServiceMonitor,PrometheusRule";
const withoutForeign = ["serviceMonitors", "rules"].flatMap((name) => ["--set", `monitoring.${name}.enabled=false`]);

describe("the charts on an API server", () => {
  let plane: ControlPlane;
  const folder = temporaryFolder("schemas");
  const onPlane = (args: readonly string[]) => runHelm(args, plane.kubeconfig);
  const install = (chart: string, args: readonly string[]) => onPlane(["install", ...args, chart]);
  /** Runs `sluice-operator crds apply`. Resolves to its exit code and the end of its output. */
  async function crdsApply() {
    const name = "sluice-operator crds apply";
    const env = { KUBECONFIG: plane.kubeconfig };
    const operator = await startProcess(await builtProgram("operator"), ["crds", "apply"], { name, env });
    return { code: (await operator.ended()).code, said: operator.tail() };
  }
  /** Assigns the CRDs to a release, with the annotations and the label by which Helm recognizes its objects. */
  async function handToHelm(): Promise<void> {
    const marks = ["meta.helm.sh/release-name=sluice-crds", "meta.helm.sh/release-namespace=sluice"];
    await plane.kubectl(["annotate", "crd", "--all", ...marks]);
    await plane.kubectl(["label", "crd", "--all", "app.kubernetes.io/managed-by=Helm"]);
  }

  before(async () => {
    plane = await startControlPlane({ controllers: true });
    for (const name of ["sluice", "shop", "team"]) await plane.kubectl(["create", "namespace", name]);
  });
  after(async () => {
    await plane?.stop();
    folder.remove();
  });

  test("the chart sluice is refused while the CRDs are missing, and nothing remains of the attempt", async () => {
    const { code, stderr } = await install(charts.sluice, [release, "-n", "sluice"]);
    assert.equal(code, 1);
    assert.match(stderr, /does not know the kind Certificate .*: install the chart sluice-crds with --wait first/);
    assert.equal(await plane.kubectl(["get", "deploy,secret,service", "-n", "sluice", "-o", "name"]), "");
  });

  test("the chart sluice-crds is refused if `sluice-operator crds apply` created the CRDs", async () => {
    const { code: applied, said } = await crdsApply();
    assert.equal(applied, 0, said);
    const { code, stderr } = await install(charts.crds, ["sluice-crds", "-n", "sluice"]);
    assert.equal(code, 1);
    assert.match(stderr, /certificates\.sluice\.dev exists already and was created by .*sluice-crds.*, not by Helm/);
    await handToHelm();
  });

  test("the chart sluice-crds adopts CRDs with Helm's annotations and label, is refused as a second release, and leaves the CRDs when it is uninstalled", async () => {
    const first = await install(charts.crds, ["sluice-crds", "-n", "sluice"]);
    assert.equal(first.code, 0, first.stderr);
    const again = await onPlane(["upgrade", "sluice-crds", charts.crds, "-n", "sluice"]);
    assert.equal(again.code, 0, again.stderr);
    const { code: applied, said } = await crdsApply();
    assert.equal(applied, 4, said);
    assert.match(
      said,
      /routes\.sluice\.dev belongs to Helm's release sluice-crds in the namespace sluice: upgrade that/,
    );
    const second = await install(charts.crds, ["others", "-n", "team"]);
    assert.equal(second.code, 1);
    assert.match(second.stderr, /certificates\.sluice\.dev belongs to the release sluice\/sluice-crds/);
    const gone = await onPlane(["uninstall", "sluice-crds", "-n", "sluice"]);
    assert.equal(gone.code, 0, gone.stderr);
    assert.equal((await plane.kubectl(["get", "crd", "-o", "name"])).trim().split("\n").length, crdNames.length);
    // Helm adopts existing objects that have its annotations and label.
    const back = await install(charts.crds, ["sluice-crds", "-n", "sluice"]);
    assert.equal(back.code, 0, back.stderr);
    await waitFor(() => plane.kubectl(["get", "routes.sluice.dev", "-A"]), { what: "the kinds to be served" });
  });

  test("the chart has a GatewayClass, and its notes name it, once the cluster has the CRDs of the Gateway API", async () => {
    const preview = async (...values: readonly string[]) => {
      const args = [release, "-n", "sluice", "--dry-run=server", ...values.flatMap((value) => ["--set", value])];
      const { code, stdout, stderr } = await install(charts.sluice, args);
      assert.equal(code, 0, stderr);
      return [stdout.includes("kind: GatewayClass"), /^Gateways: +(.+)/m.exec(stdout)?.[1]];
    };
    const without = await preview();
    assert.deepEqual(without, [
      false,
      "none, because the cluster does not have the CRDs of the Gateway API. Install them, and upgrade this release:",
    ]);
    await plane.kubectl(["apply", "--server-side", "-f", await obtainTool("gateway-api-crds")]);
    const isServed = async () => (await plane.kubectl(["get", "--raw=/openapi/v2"])).includes('"GatewayClass"');
    await waitFor(isServed, { what: "the API server to serve GatewayClasses" });
    const named = (name: string) => `those with spec.gatewayClassName: ${name}`;
    const own = (name: string) => `${named(name)} (each gets nodes of its own)`;
    assert.deepEqual(await preview(), [true, own("sluice")]);
    assert.deepEqual(await preview("class=edge", "gatewayClass.name=public"), [true, own("public")]);
    assert.deepEqual(await preview("gatewayApi.dedicatedNodes.enabled=false"), [true, named("sluice")]);
    assert.deepEqual(await preview("class=edge", "gatewayClass.create=false"), [false, named("edge")]);
    assert.deepEqual(await preview("class=edge", "namespaces={shop}"), [false, named("edge")]);
  });

  test("kubeconform finds no error in any object, with the API server's own schemas", async () => {
    writeSchemas(folder.path, await plane.kubectl(["get", "--raw=/openapi/v2"]));
    for (const name of chartCases) {
      const faults = await conform(await renderCase(name), folder.path);
      assert.equal(faults, "", name);
    }
  });

  test("kubeconform detects an error", async () => {
    const [object] = (await renderCase("default")).filter(({ kind }) => kind === "Deployment");
    const faulty = { ...object, spec: { ...Object(object?.spec), replica: 2 } } as RenderedChart;
    assert.match(await conform([faulty], folder.path), /replica/);
  });

  for (const name of chartCases)
    test(`the API server accepts the objects of golden ${name}, without those of the Prometheus operator`, async () => {
      const args = [release, "-n", "sluice", "-f", valuesFileOf(name), "--dry-run=server", ...withoutForeign];
      const { code, stderr } = await install(charts.sluice, args);
      assert.equal(code, 0, stderr);
    });

  for (const [name, kinds] of [
    ["serviceMonitors", "ServiceMonitors"],
    ["rules", "PrometheusRules"],
  ] as const)
    test(`${kinds} are refused in a cluster without their CRD`, async () => {
      const args = [release, "-n", "sluice", "--dry-run=server", "--set", `monitoring.${name}.enabled=true`];
      const { code, stderr } = await install(charts.sluice, args);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`the cluster does not know ${kinds}: install the Prometheus operator first`));
    });

  test("Pod Security admits every pod to a restricted namespace, and refuses a pod without its security context", async () => {
    await plane.kubectl(["label", "namespace", "sluice", "pod-security.kubernetes.io/enforce=restricted"]);
    for (const name of chartCases) {
      const items = (await renderCase(name)).flatMap(podOf);
      assert.ok(items.length > 0);
      const list = { apiVersion: "v1", kind: "List", items };
      await plane.kubectl(["create", "--dry-run=server", "-f", "-"], JSON.stringify(list));
    }
    const [careless] = (await renderCase("default")).flatMap(podOf);
    const { securityContext: _, ...spec } = Object(careless).spec;
    const refused = plane.kubectl(["create", "--dry-run=server", "-f", "-"], JSON.stringify({ ...careless, spec }));
    await assert.rejects(refused, /violates PodSecurity "restricted/);
  });
});

/** kubeconform's output, which is empty if it finds no error. */
async function conform(objects: readonly RenderedChart[], folder: string): Promise<string> {
  const program = await obtainTool("kubeconform");
  const args = ["-strict", "-skip", foreign, "-schema-location", schemaLocation(folder), "-"];
  return new Promise((done) => {
    const child = execFile(program, args, (_error, stdout, stderr) => done(`${stdout}${stderr}`));
    child.stdin?.end(objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  });
}

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly volumes?: readonly object[];
}

/** The spec of an object with a pod template. Only a StatefulSet has `volumeClaimTemplates`. */
interface Maker {
  readonly template?: { readonly spec: PodSpec };
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
}

/** The pod of an object's template, or the object itself if it is a pod. An empty list if the object is neither. */
function podOf({ kind, metadata: { name }, spec }: RenderedChart): readonly object[] {
  const { template, volumeClaimTemplates = [] } = (spec ?? {}) as Maker;
  const pod = kind === "Pod" ? (spec as PodSpec) : template?.spec;
  if (pod === undefined) return [];
  // The service account is left out: it does not exist in this cluster, so the API server would refuse the pod.
  const { serviceAccountName: _, volumes = [], ...rest } = pod;
  const claimed = volumeClaimTemplates.map(({ metadata }) => ({ name: metadata.name, emptyDir: {} }));
  const metadata = { name, namespace: "sluice" };
  return [{ apiVersion: "v1", kind: "Pod", metadata, spec: { ...rest, volumes: [...volumes, ...claimed] } }];
}
