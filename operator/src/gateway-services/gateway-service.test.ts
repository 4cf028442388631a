import assert from "node:assert/strict";
import { test } from "node:test";
import { deriveGateway, type Resource } from "@sluice/crds";
import { gatewayService } from "./gateway-service.ts";

const portsIn = (service: Resource | undefined) => (service?.spec?.ports ?? []) as readonly { readonly name: string }[];

test("the names of the ports of a Gateway's Service are valid for every protocol", () => {
  const listeners = [
    { name: "http", port: 80, protocol: "HTTP" },
    { name: "passthrough", port: 65_535, protocol: "TLS", tls: { mode: "Passthrough" } },
  ];
  const gateway = {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    metadata: { namespace: "shop", name: "web" },
    spec: { gatewayClassName: "sluice", listeners },
  } as Resource;
  const derived = deriveGateway(gateway, {
    class: "sluice",
    nodePortOf: (port) => port,
    overlapOf: () => undefined,
    listenerSets: [],
    namespaceLabels: () => undefined,
    read: () => undefined,
    readNamed: () => undefined,
    isReferenceAllowed: () => false,
  });
  const settings = { class: "sluice", gatewayServiceType: "ClusterIP", gatewayTrafficPolicy: "Cluster" } as const;
  const nodes = { metadata: { namespace: "sluice", name: "nodes" }, spec: {} } as Resource;
  const service = gatewayService(derived, { settings, nodes });
  const names = portsIn(service).map(({ name }) => name);
  assert.deepEqual(names, ["http-80", "tls-65535"]);
  for (const name of names) assert.match(name, /^[a-z0-9-]{1,15}$/);
});
