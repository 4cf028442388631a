import assert from "node:assert/strict";
import { test } from "node:test";
import { nodesBehind } from "./discover.ts";

const slice = (service: string, addresses: string[]) => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: `${service}-1`, namespace: "sluice", labels: { "kubernetes.io/service-name": service } },
  ports: [
    { name: "push", port: 8005 },
    { name: "status", port: 8007 },
  ],
  endpoints: addresses.map((address) => ({ addresses: [address] })),
});

test("nodes are the push port of the endpoints of the headless Service, and of no other", () => {
  const slices = [slice("sluice-nodes", ["10.0.0.2", "fd00::1"]), slice("other", ["10.0.0.9"])];
  const nodes = nodesBehind({ namespace: "sluice", name: "sluice-nodes", port: "push" }, slices, "https");
  assert.deepEqual(nodes, ["https://10.0.0.2:8005", "https://[fd00::1]:8005"]);
});
