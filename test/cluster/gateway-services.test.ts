/** The Services of Gateways on a real API server. The operator has the rights of the chart's role. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { root } from "../../tools/check/source-files.ts";
import { type ControlPlane, startControlPlane } from "../../tools/cluster/control-plane.ts";
import { roleManifests, users } from "../../tools/cluster/rbac.ts";
import { type Process, startProcess, waitFor } from "../../tools/process/index.ts";
import { tool } from "../../tools/programs/tool.ts";

let plane: ControlPlane;
let operator: Process | undefined;
after(async () => {
  await operator?.stop();
  await plane?.stop();
});

before(async () => {
  plane = await startControlPlane();
  await plane.kubectl(["apply", "--server-side", "-f", join(root, "crds")]);
  await plane.kubectl(["apply", "--server-side", "-f", await tool("gateway-api-crds")]);
  await plane.kubectl(["apply", "--server-side", "-f", "-"], roleManifests("default"));
  await plane.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => plane.kubectl(["get", "sluice,gateways", "--all-namespaces"]), {
    what: "the kinds to be served",
  });
  const nodes = { clusterIP: "None", selector: { app: "nodes" }, ports: [{ name: "push", port: 8005 }] };
  await apply(
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
    { apiVersion: "v1", kind: "Service", metadata: { name: "nodes", namespace: "default" }, spec: nodes },
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
  operator = await startProcess(process.execPath, [join(root, "operator/src/main.ts")], {
    name: "the operator",
    env: {
      KUBECONFIG: await plane.kubeconfigFor(users.operator),
      SLUICE_OPERATOR_LISTEN: "127.0.0.1:0",
      SLUICE_NODE_SERVICE: "default/nodes",
      SLUICE_PUSH_TOKEN: "token-of-the-test",
      SLUICE_GATEWAY_SERVICE_TYPE: "ClusterIP",
      // The stopped operator has released the Lease.
      SLUICE_LEASE_RETRY: "200ms",
    },
  });
}

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
  };
  readonly spec: {
    readonly clusterIP: string;
    readonly selector: object;
    readonly ports: readonly { readonly port: number; readonly targetPort: number }[];
  };
}

/** The Service of a Gateway; undefined: there is none. */
async function serviceOf(name: string): Promise<FoundService | undefined> {
  const label = `gateway.networking.k8s.io/gateway-name=${name}`;
  const { items } = JSON.parse(await plane.kubectl(["get", "services", "-n", "default", "-l", label, "-o", "json"]));
  return items[0];
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
