/**
 * Runs the commands of the page about Kong's ingress controller, on a real API server with the operator and the gateway
 * of the product. Kong itself does not run: the page only reads its objects.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { delimiter } from "node:path";
import { test } from "node:test";
import { writeCommand } from "../../../tools/cluster/command.ts";
import { startClusterProduct } from "../../../tools/cluster/product.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { withUserDatabase } from "../../../tools/programs/servers/embedded-database.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { usersIn } from "../../../tools/start/directory-product.ts";
import { freeAddresses } from "../../product/free-addresses.ts";
import { runPage } from "../run-page.ts";

const CONFIGURATION = "configuration.konghq.com";

/** A CRD of Kong's ingress controller, without its schema. */
const crd = (version: string, kind: string, { scope = "Namespaced" } = {}) => {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${CONFIGURATION}` },
    spec: {
      group: CONFIGURATION,
      scope,
      names: { kind, plural },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
};

const namespace = "shop";
const ofKong = { "kubernetes.io/ingress.class": "kong" };

const ingress = (name: string, host: string, annotations: object, path: object, service: string) => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name, namespace, annotations },
  spec: {
    ingressClassName: "kong",
    rules: [{ host, http: { paths: [{ ...path, backend: { service: { name: service, port: { number: 80 } } } }] } }],
  },
});

const plugin = (name: string, type: string) => ({
  apiVersion: `${CONFIGURATION}/v1`,
  kind: "KongPlugin",
  metadata: { name, namespace },
  plugin: type,
});

/** A core Service with one endpoint. The API server refuses loopback addresses there. */
const service = (name: string, address: AddressInfo, annotations: object = {}): readonly object[] => [
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, annotations },
    spec: { ports: [{ name: "http", port: 80 }] },
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: address.port }],
    endpoints: [{ addresses: [address.address], conditions: { ready: true } }],
  },
];

/** What the reader of the page has. */
const objectsOf = (address: AddressInfo): readonly object[] => [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  ...service("orders", address, { "konghq.com/connect-timeout": "5000" }),
  ...service("partners", address),
  ...service("web", address),
  ingress(
    "orders",
    "shop.example",
    { "konghq.com/plugins": "keys", "konghq.com/rewrite": "/v1/$1" },
    { path: "/~/orders/(\\d+)", pathType: "ImplementationSpecific" },
    "orders",
  ),
  ingress(
    "partners",
    "partners.example",
    { "konghq.com/plugins": "keys,oauth" },
    { path: "/", pathType: "Prefix" },
    "partners",
  ),
  ingress("web", "www.example", {}, { path: "/", pathType: "Prefix" }, "web"),
  plugin("keys", "key-auth"),
  plugin("oauth", "oauth2"),
  {
    apiVersion: `${CONFIGURATION}/v1`,
    kind: "KongConsumer",
    metadata: { name: "alice", namespace, annotations: ofKong },
    username: "alice",
    credentials: ["alice-key"],
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "alice-key", namespace, labels: { "konghq.com/credential": "key-auth" } },
    stringData: { key: "key-of-alice" },
  },
];

test("the commands of leave-kong-ingress-controller.md print what the page shows", async (context) => {
  const folder = temporaryFolder("leave-kong-ingress-controller");
  context.after(() => folder.remove());
  const machine = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === "IPv4" && !address.internal)?.address;
  assert.ok(machine, "this test needs an IPv4 address of this machine that is not loopback; it has none");
  const upstream = createServer(({ url }, response) => response.end(`orders: ${url}\n`));
  await new Promise<void>((resolve) => upstream.listen(0, machine, resolve));
  context.after(() => upstream.close());
  const chosen = await freeAddresses();
  await withUserDatabase(usersIn(folder.path));
  const operatorEnv = { SLUICE_PUBLISH_ADDRESSES: machine };
  const product = await startClusterProduct({ chosen, work: folder.path, operatorEnv });
  context.after(() => product.stop());
  const { kubectl, kubeconfig } = product.plane;
  const apply = (items: readonly object[]) =>
    kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await apply([crd("v1", "KongPlugin"), crd("v1", "KongConsumer")]);
  await kubectl(["wait", "--for=condition=Established", "crd", "--all"]);
  await apply(objectsOf(upstream.address() as AddressInfo));
  writeCommand(folder.path, "kubectl", [await obtainTool("kube"), "kubectl"]);
  const steps = await runPage(context, "docs/how-to/leave-kong-ingress-controller.md", {
    env: { KUBECONFIG: kubeconfig, PATH: [folder.path, process.env.PATH].join(delimiter) },
    replaced: { "127.0.0.1:8000": chosen.proxy },
  });
  assert.ok(steps.filter(({ output }) => output !== "").length >= 6);
});
