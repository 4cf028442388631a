/**
 * The Services of Gateways, and the objects of their own nodes, on a real API server. The operator has the rights of
 * the chart's role.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { builtProgram } from "../../tools/build/programs.ts";
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { type ClusterApi, connectApi } from "../../tools/cluster/api.ts";
import { type ControlPlane, startControlPlane } from "../../tools/cluster/control-plane.ts";
import { clusterUsers, dedicatedNodesManifests, roleManifests } from "../../tools/cluster/rbac.ts";
import { type Process, startProcess, waitFor } from "../../tools/process/index.ts";
import { obtainTool } from "../../tools/programs/tool.ts";
import { grantsOf, refusedRequests, unusedGrants } from "../e2e/operator/compare-rights.ts";

let plane: ControlPlane;
let api: ClusterApi;
let operator: Process | undefined;
after(async () => {
  await operator?.stop();
  api?.close();
  await plane?.stop();
});

before(async () => {
  plane = await startControlPlane({ audit: true });
  api = connectApi(plane.kubeconfig);
  await plane.kubectl(["apply", "--server-side", "-f", join(repositoryRoot, "crds")]);
  await plane.kubectl(["apply", "--server-side", "-f", await obtainTool("gateway-api-crds")]);
  for (const manifests of [roleManifests("default"), dedicatedNodesManifests("default")])
    await plane.kubectl(["apply", "--server-side", "-f", "-"], manifests);
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => plane.kubectl(["get", "sluice,gateways", "--all-namespaces"]), {
    what: "the kinds to be served",
  });
  const nodes = { clusterIP: "None", selector: { app: "nodes" }, ports: [{ name: "push", port: 8005 }] };
  await apply(
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
    { apiVersion: "v1", kind: "Service", metadata: { name: "nodes", namespace: "default" }, spec: nodes },
    template("nodes:1"),
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name: "sluice" },
      spec: { controllerName: "sluice.dev/gateway-controller" },
    },
  );
  await startOperator();
});

async function startOperator(): Promise<void> {
  operator = await startProcess(await builtProgram("operator"), [], {
    name: "the operator",
    env: {
      KUBECONFIG: await plane.kubeconfigFor(clusterUsers.operator),
      SLUICE_OPERATOR_LISTEN: "127.0.0.1:0",
      SLUICE_NODE_SERVICE: "default/nodes",
      SLUICE_NODE_DEPLOYMENT: "default/nodes",
      SLUICE_PUSH_TOKEN: "token-of-the-test",
      SLUICE_GATEWAY_SERVICE_TYPE: "ClusterIP",
      // The stopped operator has released the Lease.
      SLUICE_LEASE_RETRY: "200ms",
    },
  });
}

/** The Deployment of the nodes that all other Gateways share. Its pods never run. */
const template = (image: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "nodes", namespace: "default" },
  spec: {
    selector: { matchLabels: { app: "nodes" } },
    template: { metadata: { labels: { app: "nodes" } }, spec: { containers: [{ name: "gateway", image }] } },
  },
});

const apply = (...items: readonly object[]) =>
  plane.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));

const listener = (name: string, port: number, hostname?: string) => ({ name, port, hostname, protocol: "HTTP" });

const gateway = (name: string, listeners: readonly object[], infrastructure?: object) => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "Gateway",
  metadata: { name, namespace: "shop" },
  spec: { gatewayClassName: "sluice", listeners, infrastructure },
});

interface FoundService {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly ownerReferences: readonly { readonly name: string }[];
  };
  readonly spec: {
    readonly clusterIP: string;
    readonly selector: object;
    readonly ports: readonly { readonly port: number; readonly targetPort: number }[];
  };
}

/** The Service of a Gateway, not that of its own nodes; undefined: there is none. */
async function serviceOf(name: string): Promise<FoundService | undefined> {
  const label = `gateway.networking.k8s.io/gateway-name=${name},!sluice.dev/fleet`;
  const selector = encodeURIComponent(label);
  const { body } = await api.ask({ path: `/api/v1/namespaces/default/services?labelSelector=${selector}` });
  return (body as { readonly items: readonly FoundService[] }).items[0];
}

const portsOf = (service: FoundService | undefined) =>
  Object.fromEntries((service?.spec.ports ?? []).map(({ port, targetPort }) => [port, targetPort]));

const reports = <Value>(what: string, read: () => Promise<Value>) => waitFor(read, { what, timeout: 30_000 });

const has = (name: string, ports: readonly number[]) =>
  reports(`the Service of ${name} to have the ports ${ports}`, async () => {
    const service = await serviceOf(name);
    return `${Object.keys(portsOf(service))}` === `${ports}` && service;
  });

test("a Gateway gets a Service in the namespace of the nodes, and its address", async () => {
  const infrastructure = { labels: { team: "web" }, annotations: { "example.com/scheme": "internal" } };
  await apply(
    gateway("web", [listener("a", 80, "a.test"), listener("b", 80, "b.test"), listener("c", 8080)], infrastructure),
  );
  const service = await has("web", [80, 8080]);
  assert.deepEqual(service.spec.selector, { app: "nodes" });
  assert.deepEqual(Object.values(portsOf(service)).toSorted(), [10_000, 10_001]);
  assert.equal(service.metadata.labels.team, "web");
  assert.deepEqual(
    service.metadata.ownerReferences.map(({ name }) => name),
    ["nodes"],
    "Kubernetes deletes it with the Service of the nodes",
  );
  assert.equal(service.metadata.annotations["example.com/scheme"], "internal");
  await reports("the address", async () => {
    const path = "jsonpath={.status.addresses[*].value}";
    return (await plane.kubectl(["get", "gateway", "web", "-n", "shop", "-o", path])) === service.spec.clusterIP;
  });
});

test("a port that stays keeps its port on the nodes when listeners change", async () => {
  const before = portsOf(await serviceOf("web"));
  await apply(gateway("web", [listener("c", 8080), listener("d", 81)]));
  const service = await has("web", [81, 8080]);
  assert.equal(portsOf(service)[8080], before[8080]);
  assert.notEqual(portsOf(service)[81], before[80]);
  assert.equal(service.metadata.labels.team, undefined);
});

test("an edited Service is restored", async () => {
  const service = await serviceOf("web");
  const ports = portsOf(service);
  const patch = [{ op: "replace", path: "/spec/ports/0/targetPort", value: 8005 }];
  const name = service?.metadata.name ?? "";
  await plane.kubectl(["patch", "service", name, "-n", "default", "--type=json", "-p", JSON.stringify(patch)]);
  await reports(
    "the port",
    async () => `${Object.values(portsOf(await serviceOf("web")))}` === `${Object.values(ports)}`,
  );
});

test("another operator takes over the ports, and deletes Services of Gateways that are gone", async () => {
  await apply(gateway("alpha", [listener("a", 80)]));
  const [alpha, web] = [portsOf(await has("alpha", [80])), portsOf(await serviceOf("web"))];
  await apply(gateway("brief", [listener("a", 80)]));
  await has("brief", [80]);
  await operator?.stop();
  await plane.kubectl(["delete", "gateway", "brief", "-n", "shop"]);
  await startOperator();
  await reports("the Service to be deleted", async () => (await serviceOf("brief")) === undefined);
  assert.deepEqual(portsOf(await serviceOf("alpha")), alpha);
  assert.deepEqual(portsOf(await serviceOf("web")), web);
});

test("the Service of a deleted Gateway is deleted", async () => {
  await plane.kubectl(["delete", "gateway", "web", "-n", "shop"]);
  await reports("the Service to be deleted", async () => (await serviceOf("web")) === undefined);
  assert.ok(await serviceOf("alpha"));
});

const parameters = (spec: object) => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "GatewayParameters",
  metadata: { name: "own", namespace: "shop" },
  spec,
});

const parametersRef = { group: "sluice.dev", kind: "GatewayParameters", name: "own" };

interface FoundDeployment {
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: { readonly containers: readonly { readonly image: string; readonly resources: object }[] };
    };
  };
}

/** The Deployment of the nodes of a Gateway; undefined: there is none. */
async function nodesOf(name: string): Promise<FoundDeployment | undefined> {
  const label = `gateway.networking.k8s.io/gateway-name=${name}`;
  const selector = encodeURIComponent(label);
  const { body } = await api.ask({ path: `/apis/apps/v1/namespaces/default/deployments?labelSelector=${selector}` });
  return (body as { readonly items: readonly FoundDeployment[] }).items[0];
}

const imageOf = ({ spec }: FoundDeployment): string | undefined => spec.template.spec.containers[0]?.image;

/** All objects of a Gateway's own nodes, without its Service. */
const fleetObjectsOf = async (name: string): Promise<readonly string[]> => {
  const kinds = "deployments,serviceaccounts,services,poddisruptionbudgets,horizontalpodautoscalers";
  const labels = `gateway.networking.k8s.io/gateway-name=${name},sluice.dev/fleet`;
  const found = await plane.kubectl(["get", kinds, "-n", "default", "-l", labels, "-o", "name"]);
  return found.split("\n").filter(Boolean).sort();
};

test("a Gateway with nodes of its own gets a copy of the release's Deployment, and a Service that leads to it", async () => {
  const resources = { requests: { cpu: "1000m" } };
  await apply(
    parameters({ nodes: "Dedicated", deployment: { replicas: 3, resources } }),
    gateway("own", [listener("a", 80)], { parametersRef, labels: { team: "own" } }),
  );
  const { selector } = (await has("own", [80])).spec;
  const deployment = await reports("the Deployment", () => nodesOf("own"));
  const { name } = deployment.metadata;
  assert.deepEqual(selector, { "sluice.dev/fleet": name });
  const { replicas, template } = deployment.spec;
  assert.deepEqual([replicas, imageOf(deployment)], [3, "nodes:1"]);
  assert.deepEqual(template.spec.containers[0]?.resources, { requests: { cpu: "1" } });
  assert.equal(template.metadata.labels.app, undefined, "the Service of the release's nodes does not select the pods");
  await reports("all objects", async () => {
    const hash = name.slice(-10);
    const expected = [
      `deployment.apps/${name}`,
      `poddisruptionbudget.policy/${name}`,
      `service/gateway-${hash}-push`,
      `serviceaccount/${name}`,
    ];
    return `${await fleetObjectsOf("own")}` === `${expected}`;
  });
});

test("an edited Deployment is restored, and follows the Deployment of the release", async () => {
  const { name } = (await nodesOf("own"))?.metadata ?? {};
  await plane.kubectl(["scale", `deployment/${name}`, "-n", "default", "--replicas=1"]);
  await plane.kubectl(["set", "image", `deployment/${name}`, "-n", "default", "gateway=other:1"]);
  const is = (image: string) => async () => {
    const found = await nodesOf("own");
    return found && imageOf(found) === image && found.spec.replicas === 3;
  };
  await reports("the Deployment to be restored", is("nodes:1"));
  await apply(template("nodes:2"));
  await reports("the new image", is("nodes:2"));
});

test("the number of nodes belongs to an autoscaler, and stays as it is when the autoscaler begins", async () => {
  const autoscaler = async () => (await fleetObjectsOf("own")).some((name) => name.startsWith("horizontalpod"));
  await apply(parameters({ nodes: "Dedicated", autoscaling: { minReplicas: 2, maxReplicas: 9 } }));
  await reports("the autoscaler", autoscaler);
  assert.equal((await nodesOf("own"))?.spec.replicas, 3);
  await plane.kubectl([
    "scale",
    `deployment/${(await nodesOf("own"))?.metadata.name}`,
    "-n",
    "default",
    "--replicas=7",
  ]);
  await apply(template("nodes:3"));
  await reports("the new image", async () => {
    const found = await nodesOf("own");
    return found && imageOf(found) === "nodes:3";
  });
  assert.equal((await nodesOf("own"))?.spec.replicas, 7);
  await apply(parameters({ nodes: "Dedicated", deployment: { replicas: 4 } }));
  await reports("the autoscaler to be removed", async () => !(await autoscaler()));
  await reports("four nodes", async () => (await nodesOf("own"))?.spec.replicas === 4);
});

test("a Gateway that moves to nodes of its own is served by the shared nodes until these are ready", async () => {
  await apply(gateway("alpha", [listener("a", 80)], { parametersRef }));
  await reports("the Deployment", () => nodesOf("alpha"));
  assert.deepEqual((await serviceOf("alpha"))?.spec.selector, { app: "nodes" });
  await apply(gateway("alpha", [listener("a", 80)]));
  await reports("the Deployment to be removed", async () => (await fleetObjectsOf("alpha")).length === 0);
  assert.ok(await serviceOf("alpha"));
});

test("wrong parameters leave the nodes of a Gateway as they are", async () => {
  await plane.kubectl(["delete", "gatewayparameters", "own", "-n", "shop"]);
  await reports("the condition", async () => {
    const path = 'jsonpath={.status.conditions[?(@.type=="Accepted")].reason}';
    return (await plane.kubectl(["get", "gateway", "own", "-n", "shop", "-o", path])) === "InvalidParameters";
  });
  await operator?.stop();
  await startOperator();
  await apply(template("nodes:4"));
  await apply(gateway("brief", [listener("a", 80)]));
  await has("brief", [80]);
  assert.equal((await fleetObjectsOf("own")).length, 4);
});

test("the nodes of a Gateway that was deleted while no operator ran are deleted", async () => {
  await operator?.stop();
  await plane.kubectl(["delete", "gateway", "own", "-n", "shop"]);
  await startOperator();
  await reports("the nodes to be deleted", async () => (await fleetObjectsOf("own")).length === 0);
  assert.equal(await serviceOf("own"), undefined);
});

test("the operator uses all rights to the objects of nodes, and requests no other rights", () => {
  const log = plane.audited().filter(({ user }) => user === clusterUsers.operator);
  const grants = grantsOf("operator", ["dedicatedNodes"], { home: "default", own: "default" });
  assert.deepEqual([unusedGrants(grants, log), refusedRequests(log)], [[], []]);
});
