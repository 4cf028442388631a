/**
 * A real external-dns on a real API server, with the sources and the resources of the page about DNS names. There are
 * no pods and no load balancers: the test writes the addresses of the proxy Service, and the nodes open the ports of
 * Gateways themselves.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { freePort, type Process, startProcess, waitFor } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { coreServices } from "../../product/cluster/core-services.ts";
import { startSuite } from "../../product/cluster/suite.ts";
import { freeAddresses } from "../../product/free-addresses.ts";
import { startDnsZone } from "./dns-zone.ts";

const chosen = await freeAddresses();
const suite = await startSuite({
  // Two nodes cannot open the same port of one address.
  chosen: { ...chosen, proxy2: chosen.proxy2.replace("127.0.0.1", "127.0.0.2") },
  operatorEnv: { SLUICE_PUBLISH_SERVICE: "default/gateway" },
});
after(() => suite.stop());
const { kubectl } = suite.plane;
const services = coreServices(suite);
after(services.close);
const zone = await startDnsZone();
after(zone.close);

const [values = "", ingress = "", routes = ""] = [
  ...readFileSync(join(repositoryRoot, "docs/how-to/publish-dns-names.md"), "utf8").matchAll(/```yaml\n([\s\S]*?)```/g),
].map(([, block = ""]) => block);

const httpPort = await freePort();
const tlsPort = await freePort();

/** The addresses of the proxy Service. Each address is written by a load balancer, or is an external IP. */
async function setAddresses(...addresses: readonly string[]): Promise<void> {
  const spec = { ports: [{ port: 80 }], externalIPs: addresses };
  await suite.apply({ apiVersion: "v1", kind: "Service", metadata: { name: "gateway" }, spec });
}

const published = (...expected: readonly string[]) =>
  waitFor(() => isDeepStrictEqual(zone.records(), expected), {
    what: `the records ${expected.join(", ")}`,
    timeout: 60_000,
  }).catch((error) => {
    assert.deepEqual(zone.records(), expected, `${error.message}\n${externalDns?.tail(20)}`);
  });

let externalDns: Process | undefined;
after(() => externalDns?.stop());

before(async () => {
  await kubectl(["apply", "--server-side", "-f", await obtainTool("gateway-api-crds")]);
  // external-dns 0.21 reads TLSRoutes in this version, which only CRDs of the experimental channel serve.
  const crd = "tlsroutes.gateway.networking.k8s.io";
  const { spec } = JSON.parse(await kubectl(["get", "crd", crd, "-o", "json"]));
  const at = spec.versions.findIndex(({ name }: { readonly name: string }) => name === "v1alpha2");
  const patch = [{ op: "replace", path: `/spec/versions/${at}/served`, value: true }];
  await kubectl(["patch", "crd", crd, "--type=json", "-p", JSON.stringify(patch)]);
  await kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
  await waitFor(() => kubectl(["get", "gateways,tlsroutes"]), { what: "the new kinds to be served" });
  await suite.apply(
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name: "sluice" },
      spec: { controller: "sluice.dev/ingress-controller" },
    },
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name: "sluice" },
      spec: { controllerName: "sluice.dev/gateway-controller" },
    },
  );
  await services.serve("web");
  await setAddresses("192.0.2.7");
  const { sources, policy, domainFilters } = parse(values) as {
    readonly sources: readonly string[];
    readonly policy: string;
    readonly domainFilters: readonly string[];
  };
  externalDns = await startProcess(
    await obtainTool("external-dns"),
    [
      ...sources.map((source) => `--source=${source}`),
      ...domainFilters.map((domain) => `--domain-filter=${domain}`),
      `--policy=${policy}`,
      // The zone has no other owners.
      "--registry=noop",
      "--provider=webhook",
      `--webhook-provider-url=${zone.url}`,
      `--kubeconfig=${suite.plane.kubeconfig}`,
      `--metrics-address=127.0.0.1:${await freePort()}`,
      "--interval=1s",
      "--log-level=debug",
    ],
    { name: "external-dns" },
  );
});

test("the hosts of an Ingress get the addresses of the proxy Service", async () => {
  await kubectl(["apply", "-f", "-"], ingress);
  await published("www.shop.example A 192.0.2.7");
});

test("the hostnames of HTTPRoutes, GRPCRoutes and TLSRoutes get the addresses of their Gateway", async () => {
  // Other processes of this machine may use the ports of the page.
  const listeners = routes
    .replaceAll("protocol: HTTP, port: 80", `protocol: HTTP, port: ${httpPort}`)
    .replace("port: 8443", `port: ${tlsPort}`);
  await kubectl(["apply", "-f", "-"], listeners);
  await published(
    "api.shop.example A 192.0.2.7",
    "database.shop.example A 192.0.2.7",
    "orders.shop.example A 192.0.2.7",
    "prices.shop.example A 192.0.2.7",
    "www.shop.example A 192.0.2.7",
  );
});

test("all records follow a change of the addresses", async () => {
  await setAddresses("192.0.2.8", "2001:db8::8");
  await published(
    ...["api", "database", "orders", "prices", "www"].flatMap((name) => [
      `${name}.shop.example A 192.0.2.8`,
      `${name}.shop.example AAAA 2001:db8::8`,
    ]),
  );
});

test("a route that Sluice refuses, and an Ingress that is deleted, lose their names", async () => {
  const extensionRef = { group: "example.com", kind: "Filter", name: "unknown" };
  const filters = [{ op: "add", path: "/spec/rules/0/filters", value: [{ type: "ExtensionRef", extensionRef }] }];
  await kubectl(["patch", "httproute", "orders", "--type=json", "-p", JSON.stringify(filters)]);
  await kubectl(["delete", "ingress", "web"]);
  await published(
    ...["api", "database", "prices"].flatMap((name) => [
      `${name}.shop.example A 192.0.2.8`,
      `${name}.shop.example AAAA 2001:db8::8`,
    ]),
  );
});
