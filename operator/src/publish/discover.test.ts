import assert from "node:assert/strict";
import { test } from "node:test";
import { nodesBehind } from "./discover.ts";

const slice = (service: string, addresses: string[], conditions: object = {}, namespace = "sluice") => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: `${service}-1`, namespace, labels: { "kubernetes.io/service-name": service } },
  ports: [
    { name: "push", port: 8005 },
    { name: "status", port: 8007 },
  ],
  endpoints: addresses.map((address) => ({ addresses: [address], conditions })),
});
const service = { namespace: "sluice", name: "sluice-nodes", port: "push" };

test("nodes are the push port of the endpoints of the headless Service, and of no other", () => {
  const slices = [
    slice("sluice-nodes", ["10.0.0.2", "fd00::1"]),
    slice("other", ["10.0.0.9"]),
    slice("sluice-nodes", ["10.0.0.8"], {}, "elsewhere"),
  ];
  assert.deepEqual(nodesBehind(service, slices, "https"), ["https://10.0.0.2:8005", "https://[fd00::1]:8005"]);
});

test("a node that is published before it is ready counts, because it waits for its document", () => {
  // publishNotReadyAddresses sets ready, whatever the pod says.
  const slices = [slice("sluice-nodes", ["10.0.0.2"], { ready: true, serving: false })];
  assert.deepEqual(nodesBehind(service, slices, "http"), ["http://10.0.0.2:8005"]);
});

test("without slices there are no nodes", () => {
  assert.deepEqual(nodesBehind(service, [], "http"), []);
});
