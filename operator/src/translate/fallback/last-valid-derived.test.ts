/** Derived resources and attached Plugins with a last valid version. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { deriveIngress, type Resource } from "@sluice/crds";
import { createLastValidVersions } from "../../saved-state/last-valid-versions.ts";
import { testClusterState } from "../testing-cluster-state.ts";
import { createTranslate } from "../translator.ts";

const PREFIX = "nginx.ingress.kubernetes.io/";

function derivedResources(path: string, annotations: Readonly<Record<string, string>>): readonly Resource[] {
  const http = {
    paths: [{ path, pathType: "ImplementationSpecific", backend: { service: { name: "web", port: { number: 80 } } } }],
  };
  const ingress = {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: "web",
      namespace: "default",
      uid: "web",
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: Object.fromEntries(Object.entries(annotations).map(([name, value]) => [PREFIX + name, value])),
    },
    spec: { rules: [{ host: "a.test", http }] },
  } as Resource;
  const { resources } = deriveIngress(ingress, {
    class: "sluice",
    read: () => undefined,
    hasHost: () => true,
    hasRegexPaths: () => true,
    hasTls: () => false,
    clientCertificatesOf: () => undefined,
    canariesOf: () => [],
  });
  return resources;
}

const unavailableAfter = (second: Parameters<typeof derivedResources>): readonly unknown[] => {
  const { clusterState, put: putCore } = testClusterState();
  putCore("CoreService", "web", { spec: { ports: [{ port: 80 }] } });
  const translate = createTranslate({
    homeNamespace: "default",
    class: "sluice",
    lastValid: createLastValidVersions(),
  });
  const put = (resources: readonly Resource[], resourceVersion: string) => {
    for (const kind of ["Service", "Route", "Plugin"] as const) (clusterState[kind] as Map<string, Resource>).clear();
    for (const { metadata, ...rest } of resources)
      (clusterState[rest.kind as "Route"] as Map<string, Resource>).set(`default/${metadata.name}`, {
        ...rest,
        metadata: { ...metadata, resourceVersion },
      });
  };
  put(derivedResources("/api/(a|b)", {}), "1");
  translate(clusterState);
  put(derivedResources(...second), "2");
  return [...translate(clusterState).items.routes.values()].map(
    ({ entity }) => (entity._sluice as { readonly unavailable?: string }).unavailable !== undefined,
  );
};

test("an Ingress that asks for an unsupported protection is closed although its path becomes invalid at the same time", () => {
  assert.deepEqual(unavailableAfter(["/api/(a|b))", { "auth-tls-secret": "default/ca" }]), [true]);
});

test("an Ingress is closed by an annotation with a very long value", () => {
  assert.deepEqual(unavailableAfter(["/api/(a|b)", { "proxy-body-size": "x".repeat(2000) }]), [true]);
});

test("the last valid version of an attached Plugin acts on the current Route", () => {
  const { clusterState } = testClusterState();
  const translate = createTranslate({
    homeNamespace: "default",
    class: "sluice",
    lastValid: createLastValidVersions(),
  });
  const put = (kind: "Route" | "Plugin", name: string, more: object) => {
    const metadata = { name, namespace: "default", uid: name, creationTimestamp: "2026-01-01T00:00:00Z" };
    const resource = { apiVersion: "sluice.dev/v1alpha1", kind, metadata, ...more } as Resource;
    (clusterState[kind] as Map<string, Resource>).set(`default/${name}`, resource);
  };
  for (const name of ["one", "two"]) put("Route", name, { spec: { paths: [`/${name}`] } });
  const attached = (config: object, route: string) =>
    put("Plugin", "keys", {
      spec: { plugin: "key-auth", config, targetRefs: [{ kind: "Route", name: route }] },
      derived: { version: route, sourcePaths: {}, source: { kind: "Plugin", namespace: "default", name: "keys" } },
    });
  attached({}, "one");
  const routeOf = () => [...translate(clusterState).items.plugins.values()].map(({ entity }) => entity.route);
  const [first] = routeOf();
  attached({ key_names: 5 }, "two");
  const routes = [...translate(clusterState).items.routes.values()].map(({ entity }) => entity);
  assert.deepEqual(routeOf(), [{ id: routes.find(({ name }) => name === "two")?.id }]);
  assert.notDeepEqual(routeOf(), [first]);
});
