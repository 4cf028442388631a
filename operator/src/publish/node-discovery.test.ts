import assert from "node:assert/strict";
import { test } from "node:test";
import { createNodeDiscovery } from "./node-discovery.ts";

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
const service = { namespace: "sluice", name: "sluice-nodes" };

test("nodes are found at the push port of the endpoints of the headless Service, and of no other Service", () => {
  const slices = createNodeDiscovery(service);
  slices.set("sluice/a", slice("sluice-nodes", ["10.0.0.2", "fd00::1"]));
  slices.set("sluice/b", slice("other", ["10.0.0.9"]));
  slices.set("elsewhere/a", slice("sluice-nodes", ["10.0.0.8"], {}, "elsewhere"));
  assert.deepEqual(slices.addresses("https"), ["https://10.0.0.2:8005", "https://[fd00::1]:8005"]);
});

test("a node that is published before it is ready is found, because it waits for its document", () => {
  const slices = createNodeDiscovery(service);
  // publishNotReadyAddresses sets ready to true, whatever the pod reports.
  slices.set("sluice/a", slice("sluice-nodes", ["10.0.0.2"], { ready: true, serving: false }));
  assert.deepEqual(slices.addresses("http"), ["http://10.0.0.2:8005"]);
});

test("without slices there are no nodes", () => {
  assert.deepEqual(createNodeDiscovery(service).addresses("http"), []);
});

const [ours, other] = [slice("sluice-nodes", ["10.0.0.2"]), slice("other", ["10.0.0.9"])];
for (const [what, before, now, isNews] of [
  ["adding a slice of another Service", undefined, other, false],
  ["changing a slice of another Service", other, other, false],
  ["removing a slice of another Service", other, undefined, false],
  ["adding a slice of the nodes", undefined, ours, true],
  ["changing a slice of the nodes", ours, ours, true],
  ["removing a slice of the nodes", ours, undefined, true],
  ["changing a slice of another Service into a slice of the nodes", other, ours, true],
  ["changing a slice of the nodes into a slice of another Service", ours, other, true],
] as const)
  test(`${what} is ${isNews ? "reported" : "not reported"} as a change of the nodes`, () => {
    const slices = createNodeDiscovery(service);
    slices.set("sluice/a", before);
    assert.equal(slices.set("sluice/a", now), isNews);
    assert.deepEqual(slices.addresses("http"), now === ours ? ["http://10.0.0.2:8005"] : []);
  });
