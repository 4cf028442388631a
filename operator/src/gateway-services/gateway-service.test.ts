import assert from "node:assert/strict";
import { test } from "node:test";
import { deriveGateway, type Resource } from "@sluice/crds";
import { type GatewayServiceOptions, gatewayService } from "./gateway-service.ts";

interface ServiceRow {
  readonly listeners?: readonly object[];
  readonly addresses?: readonly object[];
  readonly type?: GatewayServiceOptions["settings"]["gatewayServiceType"];
}

const http = { name: "http", port: 80, protocol: "HTTP" };

function specFor({ listeners = [http], addresses = [], type = "ClusterIP" }: ServiceRow) {
  const gateway = {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { namespace: "shop", name: "web" },
    spec: { gatewayClassName: "sluice", listeners, addresses },
  } as Resource;
  const derived = deriveGateway(gateway, {
    class: "sluice",
    nodePortOf: (port) => port,
    readParameters: () => undefined,
    gatewayClass: () => undefined,
    dedicatedFault: undefined,
    lastParameters: undefined,
    fleetsOf: () => ["shared"],
    overlapOf: () => undefined,
    listenerSets: [],
    namespaceLabels: () => undefined,
    read: () => undefined,
    readNamed: () => undefined,
    isReferenceAllowed: () => false,
  });
  const settings = { class: "sluice", gatewayServiceType: type, gatewayTrafficPolicy: "Cluster" } as const;
  const nodes = { metadata: { namespace: "sluice", name: "nodes" }, spec: {} } as Resource;
  return gatewayService(derived, { settings, nodes })?.spec;
}

test("the names of the ports of a Gateway's Service are valid for every protocol", () => {
  const passthrough = { name: "passthrough", port: 65_535, protocol: "TLS", tls: { mode: "Passthrough" } };
  const ports = (specFor({ listeners: [http, passthrough] })?.ports ?? []) as readonly { readonly name: string }[];
  const names = ports.map(({ name }) => name);
  assert.deepEqual(names, ["http-80", "tls-65535"]);
  for (const name of names) assert.match(name, /^[a-z0-9-]{1,15}$/);
});

for (const [type, addresses, expected] of [
  ["LoadBalancer", [{ type: "IPAddress", value: "192.0.2.7" }], "192.0.2.7"],
  ["LoadBalancer", [{ value: "2001:db8::7" }], "2001:db8::7"],
  ["LoadBalancer", [{ type: "Hostname", value: "shop.test" }], undefined],
  ["LoadBalancer", [{ value: "192.0.2.7" }, { value: "192.0.2.8" }], undefined],
  ["LoadBalancer", [{ type: "IPAddress" }], undefined],
  ["ClusterIP", [{ value: "192.0.2.7" }], undefined],
] as const)
  test(`the Service of the type ${type} for the addresses ${JSON.stringify(addresses)} asks for ${expected ?? "none"}`, () => {
    assert.equal(specFor({ type, addresses })?.loadBalancerIP, expected);
  });
