import assert from "node:assert/strict";
import { test } from "node:test";
import { SHARED_FLEET } from "@sluice/model";
import { createNodeDiscovery, pushServiceName } from "./node-discovery.ts";

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
    assert.deepEqual(new Set(slices.set("sluice/a", now)), new Set(isNews ? [SHARED_FLEET] : []));
    assert.deepEqual(slices.addresses("http"), now === ours ? ["http://10.0.0.2:8005"] : []);
  });

test("the nodes of a fleet are found once the fleet is known, also if their slice was seen before", () => {
  const [fleet, other] = ["gateway-web-0123456789", "gateway-api-abcdefghij"];
  const slices = createNodeDiscovery(service);
  slices.set("sluice/a", slice(pushServiceName(fleet), ["10.0.1.1"]));
  assert.deepEqual(slices.setFleets([SHARED_FLEET, fleet]), [fleet]);
  assert.deepEqual(slices.setFleets([SHARED_FLEET, fleet, other]), [other]);
  assert.deepEqual(slices.addresses("http", fleet), ["http://10.0.1.1:8005"]);
  assert.deepEqual(slices.addresses("http"), []);
  assert.deepEqual(slices.set("sluice/b", slice(pushServiceName(other), ["10.0.1.2"])), [other]);
  slices.setFleets([]);
  assert.deepEqual(slices.set("sluice/b", undefined), []);
});
