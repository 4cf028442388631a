/** Resources written by hand in a folder, where no API server validates them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { createLastValidVersions } from "../saved-state/last-valid-versions.ts";
import type { WatchedKind } from "../watch/cluster-state.ts";
import { grantBetween, secretWithKey, testClusterState } from "./testing-cluster-state.ts";
import { createTranslate } from "./translator.ts";

const junk: readonly unknown[] = [null, 7, "text", true, [], {}, [null], [7], ["text"], [[]], [{}], [{ port: null }]];

/** Kinds, members, and functions that return a resource with a given value of the member and valid other members. */
const written: readonly (readonly [kind: WatchedKind, member: string, (value: unknown) => object])[] = [
  ["CoreService", "spec", (spec) => ({ spec })],
  ["CoreService", "spec.ports", (ports) => ({ spec: { ports } })],
  ["CoreService", "spec.ports[]", (port) => ({ spec: { ports: [port, { name: "http", port: 80 }] } })],
  ["CoreService", "spec.ports[].name", (name) => ({ spec: { ports: [{ name, port: 80 }] } })],
  ["EndpointSlice", "ports", (ports) => ({ ports, endpoints: [{ addresses: ["10.0.0.1"] }] })],
  ["EndpointSlice", "ports[].name", (name) => ({ ports: [{ name, port: 80 }, null], endpoints: [] })],
  ["EndpointSlice", "endpoints", (endpoints) => ({ ports: [{ port: 80 }], endpoints })],
  ["EndpointSlice", "endpoints[].addresses", (addresses) => ({ ports: [{ port: 80 }], endpoints: [{ addresses }] })],
  [
    "EndpointSlice",
    "endpoints[].conditions",
    (conditions) => ({ ports: [{ port: 80 }], endpoints: [{ addresses: ["10.0.0.1"], conditions }] }),
  ],
  ["ReferenceGrant", "spec", (spec) => ({ spec })],
  ["ReferenceGrant", "spec.from", (from) => ({ spec: { from, to: [{ group: "", kind: "Secret" }] } })],
  [
    "ReferenceGrant",
    "spec.from[].namespace",
    (namespace) => grantBetween([{ kind: "Consumer", namespace: namespace as string }], [{ kind: "Route" }]),
  ],
  ["ReferenceGrant", "spec.to", (to) => ({ spec: { from: [{ group: "sluice.dev", kind: "Route" }], to } })],
  ["Secret", "data", (data) => ({ ...secretWithKey("k"), data })],
  ["Secret", "data.key", (key) => ({ ...secretWithKey("k"), data: { key } })],
  ["Secret", "stringData", (stringData) => ({ ...secretWithKey("k"), stringData })],
  ["Secret", "data[tls.crt]", (crt) => ({ type: "kubernetes.io/tls", data: { "tls.crt": crt, "tls.key": "YQ==" } })],
  ["Secret", "type", (type) => ({ ...secretWithKey("k"), type })],
];

for (const [kind, member, resourceWith] of written)
  test(`a valid Service is served whatever value a file has for the ${kind} member ${member}`, () => {
    for (const value of junk) {
      const { clusterState, put } = testClusterState();
      put("CoreService", "core", { spec: { ports: [{ name: "http", port: 80 }] } });
      put("EndpointSlice", "core", {
        metadata: { name: "core", namespace: "default", labels: { "kubernetes.io/service-name": "core" } },
        ports: [{ name: "http", port: 8080 }],
        endpoints: [{ addresses: ["10.0.0.9"] }],
      });
      put("Secret", "core", secretWithKey("key"));
      put("Service", "backed", { spec: { backendRef: { name: "core", port: 80 } } });
      put("Consumer", "keyed", { spec: { username: "keyed", keyAuth: [{ secretRef: { name: "core", key: "key" } }] } });
      put("Certificate", "certificate", { spec: { secretRef: { name: "core" } } });
      put("Service", "other", { spec: { url: "http://other.test" } });
      put("Route", "elsewhere/asks", { spec: { serviceRef: { name: "other", namespace: "default" }, paths: ["/"] } });
      const translate = createTranslate({
        homeNamespace: "default",
        class: "sluice",
        lastValid: createLastValidVersions(),
      });
      const before = translate(clusterState);
      assert.equal(before.endpoints.size, 1);
      const { labels } = clusterState[kind].get("default/core")?.metadata ?? {};
      const members = resourceWith(value) as Partial<Resource>;
      put(kind, "core", { ...members, metadata: { name: "core", namespace: "default", ...(labels && { labels }) } });
      const { items } = translate(clusterState);
      const names = [...items.services.values()].map(({ entity }) => entity.name);
      assert.ok(names.includes("other"), `${JSON.stringify(value)}: ${names.join()}`);
    }
  });
