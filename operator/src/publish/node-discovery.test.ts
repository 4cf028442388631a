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

test("nodes are the push port of the endpoints of the headless Service, and of no other Service", () => {
  const slices = createNodeDiscovery(service);
  slices.set("sluice/a", slice("sluice-nodes", ["10.0.0.2", "fd00::1"]));
  slices.set("sluice/b", slice("other", ["10.0.0.9"]));
  slices.set("elsewhere/a", slice("sluice-nodes", ["10.0.0.8"], {}, "elsewhere"));
  assert.deepEqual(slices.addresses("https"), ["https://10.0.0.2:8005", "https://[fd00::1]:8005"]);
});

test("a node that is published before it is ready counts, because it waits for its document", () => {
  const slices = createNodeDiscovery(service);
  // publishNotReadyAddresses sets ready, whatever the pod says.
  slices.set("sluice/a", slice("sluice-nodes", ["10.0.0.2"], { ready: true, serving: false }));
  assert.deepEqual(slices.addresses("http"), ["http://10.0.0.2:8005"]);
});

test("without slices there are no nodes", () => {
  assert.deepEqual(createNodeDiscovery(service).addresses("http"), []);
});

const [ours, other] = [slice("sluice-nodes", ["10.0.0.2"]), slice("other", ["10.0.0.9"])];
for (const [what, before, now, isNews] of [
  ["of another Service", undefined, other, false],
  ["of another Service, changed", other, other, false],
  ["of another Service, removed", other, undefined, false],
  ["of the nodes", undefined, ours, true],
  ["of the nodes, changed", ours, ours, true],
  ["of the nodes, removed", ours, undefined, true],
  ["that becomes one of the nodes'", other, ours, true],
  ["that no longer belongs to the nodes", ours, other, true],
] as const)
  test(`a slice ${what} is ${isNews ? "a reason" : "no reason"} to look for nodes`, () => {
    const slices = createNodeDiscovery(service);
    slices.set("sluice/a", before);
    assert.equal(slices.set("sluice/a", now), isNews);
    assert.deepEqual(slices.addresses("http"), now === ours ? ["http://10.0.0.2:8005"] : []);
  });
