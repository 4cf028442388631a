/** Resources without a class, on a real API server: the operator that serves them, or their conditions if none does. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readSettings } from "@sluice/model";
import { adminSettings } from "../../gateway/src/settings/commands/admin.ts";
import { openStore } from "../../gateway/src/stores/open.ts";
import { startTestNode, type TestNode } from "../../operator/src/testing-node.ts";
import { builtProgram } from "../../tools/build/programs.ts";
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { type ClusterApi, conditionOfRoute, connectApi } from "../../tools/cluster/api.ts";
import { type ControlPlane, startControlPlane } from "../../tools/cluster/control-plane.ts";
import { startProcess, waitFor } from "../../tools/process/index.ts";

const TOKEN = "token-of-the-test";
const quiet = { info() {}, warn() {}, error() {} };

let plane: ControlPlane;
let api: ClusterApi;
const started: { stop(): Promise<unknown> }[] = [];
after(async () => {
  for (const one of started.reverse()) await one.stop();
  api?.close();
  await plane?.stop();
});
before(async () => {
  plane = await startControlPlane();
  api = connectApi(plane.kubeconfig);
  await plane.kubectl(["apply", "--server-side", "-f", join(repositoryRoot, "crds")]);
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => plane.kubectl(["get", "sluice", "--all-namespaces"]), { what: "the new kinds to be served" });
  const namespaces = ["dev-home", "given", "shop"];
  await apply(...namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })));
  const metadata = { name: "classless", namespace: "given", labels: { "sluice.dev/class": "dev" } };
  await apply({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata });
  for (const namespace of namespaces)
    await apply(
      made("Service", `${namespace}/up`, { url: "http://up.test" }),
      made("Route", `${namespace}/web`, { paths: [`/${namespace}`], serviceRef: { name: "up" } }),
    );
  await apply(made("Route", "shop/odd", { paths: ["/odd"], class: "odd" }));
});

const apply = (...items: readonly object[]) =>
  plane.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));

function made(kind: string, at: string, spec: object): object {
  const [namespace, name] = at.split("/");
  return { apiVersion: "sluice.dev/v1alpha1", kind, metadata: { namespace, name }, spec };
}

/** Starts an operator process with its own Lease for leader election and its own node. Resolves to the node. */
async function operator(env: Readonly<Record<string, string>>): Promise<TestNode> {
  const node = await startTestNode(TOKEN);
  started.push(node);
  const running = await startProcess(await builtProgram("operator"), [], {
    name: `operator of ${env.SLUICE_HOME_NAMESPACE}`,
    env: {
      KUBECONFIG: plane.kubeconfig,
      SLUICE_OPERATOR_LISTEN: "127.0.0.1:0",
      SLUICE_NODES: node.address,
      SLUICE_PUSH_TOKEN: TOKEN,
      ...env,
    },
  });
  started.push(running);
  return node;
}

const routesOf = ({ snapshot }: TestNode) => [...(snapshot?.routes.values() ?? [])].map(({ name }) => name).sort();

const serves = (node: TestNode, routes: readonly string[]) =>
  waitFor(() => `${routesOf(node)}` === `${routes}`, { what: `the node to have ${routes}`, timeout: 20_000 });

const says = (at: string, type: string, words: RegExp) =>
  waitFor(async () => words.test(await conditionOfRoute(api, at, type)), {
    what: `${at} to report ${words}`,
    timeout: 30_000,
  });

let dev: TestNode;
let other: TestNode;

test("an operator with its own class serves resources without a class in its home namespace and in a namespace that a Lease assigns to it", async () => {
  dev = await operator({ SLUICE_CLASS: "dev", SLUICE_HOME_NAMESPACE: "dev-home" });
  await serves(dev, ["given.web", "web"]);
  await says("dev-home/web", "Programmed", /^True/);
});

test("a resource whose class no operator serves gets an Event, and conditions that list the served classes", async () => {
  const unset = "to which resources of shop without spec.class belong";
  const words = `no operator serves the class sluice, ${unset}: set spec.class to one that is served \\(dev\\)$`;
  for (const type of ["Accepted", "Programmed"])
    await says("shop/web", type, new RegExp(`^False ClassNotServed ${words}`));
  assert.match(await plane.kubectl(["get", "events", "-n", "shop"]), /ClassNotServed/);
});

test("an operator of the default class serves resources without a class in namespaces that belong to no other class, and no resource is served by two operators", async () => {
  other = await operator({ SLUICE_HOME_NAMESPACE: "default" });
  await serves(other, ["shop.web"]);
  await says("shop/web", "Programmed", /^True/);
  await says("shop/odd", "Accepted", /class odd: set spec.class to one that is served \(dev, sluice\)$/);
  assert.deepEqual(routesOf(dev), ["given.web", "web"]);
});

test("the store of an admin API with a class lists the routes that the operator of that class serves", async () => {
  const { value: settings } = readSettings(adminSettings, {
    SLUICE_STORE: "cluster",
    SLUICE_CLASS: "dev",
    SLUICE_HOME_NAMESPACE: "dev-home",
  });
  assert.ok(settings);
  const before = process.env.KUBECONFIG;
  process.env.KUBECONFIG = plane.kubeconfig;
  const { store, close } = await openStore(settings, quiet);
  // KUBECONFIG can be restored already, because the Kubernetes client has read it.
  if (before === undefined) delete process.env.KUBECONFIG;
  else process.env.KUBECONFIG = before;
  try {
    const { entities } = await store.list("routes", { size: 10 });
    assert.deepEqual(entities.map(({ name }) => name).sort(), ["given.web", "web"]);
  } finally {
    await close();
  }
});

test("after the Lease that assigns a namespace to a class is deleted, the default class serves the namespace", async () => {
  await plane.kubectl(["delete", "lease", "-n", "given", "classless"]);
  await serves(dev, ["web"]);
  await serves(other, ["given.web", "shop.web"]);
});
