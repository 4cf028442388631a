/**
 * Stacks in a cluster with objects of other owners, with the real engine, provider and Helm on a control plane without
 * pods: an existing object with the name of an object of the stack is neither taken over nor deleted, and the objects
 * that a previous deployment of the stack has left are used again.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type ControlPlane, startControlPlane } from "../../../tools/cluster/control-plane.ts";
import { openProject, type Project } from "../../../tools/deploy/project.ts";
import { selectStack } from "../../../tools/deploy/stack.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { charts, runHelm } from "./helm.ts";

const folder = temporaryFolder("others");
let plane: ControlPlane;
let project: Project;

before(async () => {
  plane = await startControlPlane({ controllers: true });
  project = await openProject({
    folder: join(folder.path, "project"),
    kubeconfig: plane.kubeconfig,
    passphrase: "of-the-suite",
  });
});

after(async () => {
  await plane?.stop();
  folder.remove();
});

const apply = (object: object) => plane.kubectl(["apply", "--filename=-"], JSON.stringify(object));
const up = (stack: string) => project.run(["up", "--yes", "--skip-preview", "--stack", stack]);

async function refused(stack: string): Promise<string> {
  const { code, output } = await up(stack);
  assert.notEqual(code, 0, output);
  const [, faults = ""] = output.split("Diagnostics:").at(-1)?.split(`error: The stack ${stack} would overwrite`) ?? [];
  assert.match(faults, /^ objects of other owners:\n[\s\S]*Nothing was changed\./, output);
  const { resources = [] } = JSON.parse((await project.run(["stack", "export", "--stack", stack])).output).deployment;
  const made = resources.filter(({ type }: { type: string }) => type.startsWith("kubernetes:"));
  assert.deepEqual(made, []);
  return faults;
}

test("CRDs that kubectl or the chart created are not changed", async () => {
  await selectStack(project, "crds");
  const crds = join(import.meta.dirname, "../../../crds");
  await plane.kubectl(["apply", "--filename", crds]);
  assert.match(
    await refused("crds"),
    /CustomResourceDefinition routes\.sluice\.dev already exists, created with kubectl\n/,
  );
  // The first request for a kind starts its storage, and the API server may answer it with an error to retry. Each kind
  // is requested here, so that the first request is not the API server's own cleanup of the deleted CRD: the cleanup
  // would retry with an outdated copy, get a conflict, and continue only after five minutes.
  const kinds = readdirSync(crds).filter((file) => file.endsWith(".sluice.dev.yaml"));
  await plane.kubectl(["get", kinds.map((file) => file.replace(".yaml", "")).join(","), "--all-namespaces"]);
  await plane.kubectl(["delete", "--filename", crds]);
  const installed = await runHelm(["install", "kinds", charts.crds, "--namespace=default"], plane.kubeconfig);
  assert.equal(installed.code, 0, installed.stderr);
  assert.match(await refused("crds"), /routes\.sluice\.dev belongs to Helm's release kinds in the namespace default\n/);
});

async function configure(stack: string, texts: Readonly<Record<string, string>>): Promise<void> {
  await selectStack(project, stack);
  const pairs = Object.entries(texts).flatMap(([path, text]) => ["--plaintext", `sluice:${path}=${text}`]);
  const { code, output } = await project.run(["config", "set-all", "--path", ...pairs, "--stack", stack]);
  assert.equal(code, 0, output);
}

test("a namespace of another stack, or of no stack, is neither taken over nor deleted", async () => {
  const labels = { "sluice.dev/stack": "dev" };
  await apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "of-dev", labels } });
  await apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  await configure("qa", { namespace: "of-dev" });
  assert.match(await refused("qa"), /the Namespace of-dev belongs to the stack dev\n/);
  await configure("qa", { namespace: "shop" });
  assert.match(await refused("qa"), /the Namespace shop already exists, created with kubectl\n/);
  await project.run(["destroy", "--yes", "--skip-preview", "--stack", "qa"]);
  const left = await plane.kubectl([
    "get",
    "namespaces",
    "of-dev",
    "shop",
    "--output=jsonpath={.items[*].status.phase}",
  ]);
  assert.equal(left, "Active Active");
});

test("an IngressClass of another owner is not taken over", async () => {
  const spec = { controller: "example.com/controller" };
  await apply({ apiVersion: "networking.k8s.io/v1", kind: "IngressClass", metadata: { name: "sluice" }, spec });
  await configure("qa", { namespace: "free" });
  assert.match(
    await refused("qa"),
    /owners:\n +the IngressClass sluice already exists, created with kubectl\n +Nothing was changed/,
  );
  await plane.kubectl(["delete", "ingressclass", "sluice"]);
});

test("objects of a Helm release with the same name are not taken over in a shared namespace", async () => {
  const installed = await runHelm(["install", "sluice", charts.sluice, "--namespace=shop"], plane.kubeconfig);
  assert.equal(installed.code, 0, installed.stderr);
  await configure("qa", { namespace: "shop", ownNamespace: "false" });
  const faults = await refused("qa");
  const own = [
    "Namespace shop-sluice-keys",
    "Role sluice-operator in the namespace shop",
    "ClusterRole shop-sluice-operator",
  ];
  for (const object of own) {
    assert.ok(faults.includes(`the ${object} belongs to Helm's release sluice in the namespace shop\n`), faults);
  }
  const { code, stderr } = await runHelm(["uninstall", "sluice", "--namespace=shop"], plane.kubeconfig);
  assert.equal(code, 0, stderr);
  // Helm keeps the Secrets with the keys, and their namespace.
  assert.ok((await refused("qa")).includes("the Namespace shop-sluice-keys belongs to Helm's release sluice"));
  await plane.kubectl(["delete", "namespace", "shop-sluice-keys"]);
});

test("the password of a database with a volume outlives the stack, and the next stack uses this password", async () => {
  const database = { "postgres.enabled": "true", "postgres.persistence.enabled": "true" };
  await configure("qa", { namespace: "shop", ownNamespace: "false", timeout: "1s", ...database });
  const password = () =>
    plane.kubectl(["get", "secret/sluice-postgres", "--namespace=shop", "--output=jsonpath={.data.password}"]);
  // No pod ever runs here: waiting for pods fails, and the other objects stay.
  const first = await up("qa");
  assert.match(first.output, /sluice-postgres' timed out waiting to be Ready/);
  const made = await password();
  assert.match(made, /^\S{40,}$/);
  const destroyed = await project.run(["destroy", "--yes", "--skip-preview", "--stack", "qa"]);
  assert.equal(destroyed.code, 0, destroyed.output);
  assert.equal(await password(), made);
  assert.doesNotMatch(await plane.kubectl(["get", "all", "--namespace=shop", "--output=name"]), /sluice-postgres/);
  const second = await up("qa");
  assert.match(second.output, /sluice-postgres' timed out waiting to be Ready/);
  assert.equal(await password(), made);
  assert.doesNotMatch(second.output, new RegExp(made));
});
