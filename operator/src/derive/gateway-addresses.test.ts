import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { type GatewayAddress, serviceAddresses } from "./gateway-addresses.ts";

const clusterIP = "10.96.0.7";
const balanced = (...ingress: readonly object[]) => ({ loadBalancer: { ingress } });

const services: readonly (readonly [spec: object, status: object, expected: readonly GatewayAddress[]])[] = [
  [{ type: "ClusterIP", clusterIP }, {}, [{ ip: clusterIP }]],
  [{ type: "NodePort", clusterIP }, {}, [{ ip: clusterIP }]],
  [{ type: "NodePort", clusterIP, externalIPs: ["192.0.2.7"] }, {}, [{ ip: "192.0.2.7" }]],
  [{ type: "LoadBalancer", clusterIP }, {}, []],
  [{ type: "LoadBalancer", clusterIP }, balanced({ ip: "192.0.2.8", ports: [] }), [{ ip: "192.0.2.8" }]],
  [{ type: "LoadBalancer", clusterIP }, balanced({ hostname: "lb.test" }), [{ hostname: "lb.test" }]],
  [{ type: "ClusterIP", clusterIP: "None" }, {}, []],
];

for (const [spec, status, expected] of services)
  test(`a Service ${JSON.stringify(spec)} with the status ${JSON.stringify(status)} has the addresses ${JSON.stringify(expected)}`, () => {
    const metadata = { name: "gateway", namespace: "sluice" } as Resource["metadata"];
    const service: Resource = { apiVersion: "v1", kind: "Service", metadata, spec: { ...spec }, status: { ...status } };
    assert.deepEqual(serviceAddresses(service), expected);
  });
