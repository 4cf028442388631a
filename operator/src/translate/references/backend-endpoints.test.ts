import assert from "node:assert/strict";
import { test } from "node:test";
import { ENDPOINT_WEIGHT_UNIT } from "@sluice/model";
import { testClusterState } from "../testing-cluster-state.ts";
import { createTranslate } from "../translator.ts";

type Endpoint = readonly [address: string, terminating?: boolean];

/** A cluster with an Upstream `pool` that has these weights for core Services of the same names. */
function clusterWith(weights: Readonly<Record<string, number>>) {
  const { clusterState, put } = testClusterState();
  const backendRefs = Object.entries(weights).map(([name, weight]) => ({ name, port: 80, weight }));
  put("Upstream", "pool", { spec: { backendRefs } });
  for (const name of Object.keys(weights)) put("CoreService", name, { spec: { ports: [{ port: 80 }] } });
  return {
    clusterState,
    put,
    putEndpoints(name: string, ...endpoints: readonly Endpoint[]) {
      put("EndpointSlice", name, {
        metadata: { name, namespace: "default", labels: { "kubernetes.io/service-name": name } },
        ports: [{ port: 8080 }],
        endpoints: endpoints.map(([address, terminating = false]) => ({
          addresses: [address],
          conditions: { ready: !terminating, serving: true, terminating },
        })),
      });
    },
    /** The weights of the endpoints by address, as weights of targets, rounded. */
    weights(): Readonly<Record<string, number>> {
      const { upstream_endpoints } = createTranslate({ homeNamespace: "default", class: "sluice" })(clusterState);
      const [list = []] = upstream_endpoints.values();
      return Object.fromEntries(
        list.map(({ address, weight }) => [address, Math.round(weight * ENDPOINT_WEIGHT_UNIT * 1000) / 1000]),
      );
    },
  };
}

test("the endpoints of a core Service share its weight", () => {
  const cluster = clusterWith({ stable: 90, canary: 10 });
  cluster.putEndpoints("stable", ["10.1.0.1"], ["10.1.0.2"], ["10.1.0.3"]);
  cluster.putEndpoints("canary", ["10.2.0.1"]);
  assert.deepEqual(cluster.weights(), { "10.1.0.1": 30, "10.1.0.2": 30, "10.1.0.3": 30, "10.2.0.1": 10 });
});

for (const [weight, count] of [
  [1, 7],
  [1, 5000],
  [3, 1000],
  [65_535, 1000],
] as const) {
  test(`${count} endpoints that share the weight ${weight} have this weight together, with an error below 1 %`, () => {
    const cluster = clusterWith({ stable: weight });
    const addresses = Array.from({ length: count }, (_, at): Endpoint => [`10.1.${at >> 8}.${at & 255}`]);
    cluster.putEndpoints("stable", ...addresses);
    const { upstream_endpoints } = createTranslate({ homeNamespace: "default", class: "sluice" })(cluster.clusterState);
    const [list = []] = upstream_endpoints.values();
    const sum = list.reduce((whole, endpoint) => whole + endpoint.weight, 0) * ENDPOINT_WEIGHT_UNIT;
    assert.ok(Math.abs(sum - weight) < weight / 100, `${sum}`);
    assert.ok(list.every((endpoint) => Number.isInteger(endpoint.weight)));
  });
}

test("the endpoints of a core Service with weight 0 get no requests", () => {
  const cluster = clusterWith({ stable: 1, canary: 0 });
  cluster.putEndpoints("stable", ["10.1.0.1"]);
  cluster.putEndpoints("canary", ["10.2.0.1"]);
  assert.deepEqual(cluster.weights(), { "10.1.0.1": 1, "10.2.0.1": 0 });
});

test("terminating endpoints have a part of the weight only if their core Service has no others", () => {
  const cluster = clusterWith({ stable: 90, canary: 10 });
  cluster.putEndpoints("stable", ["10.1.0.1", true], ["10.1.0.2"]);
  cluster.putEndpoints("canary", ["10.2.0.1", true], ["10.2.0.2", true]);
  assert.deepEqual(cluster.weights(), { "10.1.0.2": 90, "10.2.0.1": 5, "10.2.0.2": 5 });
});

test("an endpoint of two core Services has both parts", () => {
  const cluster = clusterWith({ all: 20, canary: 10 });
  cluster.putEndpoints("all", ["10.1.0.1"], ["10.1.0.2"]);
  cluster.putEndpoints("canary", ["10.1.0.2"]);
  assert.deepEqual(cluster.weights(), { "10.1.0.1": 10, "10.1.0.2": 20 });
});

test("the cluster IP of a core Service is no endpoint of an Upstream", () => {
  const cluster = clusterWith({ stable: 1 });
  cluster.put("CoreService", "stable", { spec: { clusterIP: "10.96.0.1", ports: [{ port: 80 }] } });
  cluster.putEndpoints("stable", ["10.1.0.1"]);
  assert.deepEqual(cluster.weights(), { "10.1.0.1": 1 });
});
