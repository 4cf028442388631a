import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { snapshotToDocument } from "@sluice/model";
import fc from "fast-check";
import { buildSnapshot, emptyBuild } from "../document/build-snapshot.ts";
import { secretWithKey, type TestClusterState, testClusterState } from "./testing-cluster-state.ts";
import { createTranslate } from "./translator.ts";

type Members = Record<string, unknown>;

/** Values that people may write by mistake, some of them similar to a valid value. */
const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(
    "users",
    ["/users"],
    [{ kind: "Service", name: "users" }],
    { name: "users" },
    [{ target: "a" }, { target: "b" }],
    [
      { name: "users", port: 80 },
      { name: "nobody", port: 80 },
    ],
    "key-auth",
    1,
    null,
  ),
);
const spec = fc.dictionary(
  fc.constantFrom(
    "name",
    "url",
    "host",
    "port",
    "paths",
    "hosts",
    "headers",
    "serviceRef",
    "plugin",
    "targetRefs",
    "config",
    "configFrom",
    "username",
    "keyAuth",
    "enabled",
    "tags",
    "id",
    "class",
    "backendRef",
    "backendRefs",
    "protocols",
    "secretRef",
    "snis",
    "targets",
    "healthchecks",
    "clientCertificateRef",
    "hashOn",
    "unknown",
  ),
  odd,
) as fc.Arbitrary<Members>;
const kinds = ["Certificate", "Upstream", "Service", "Route", "Consumer", "Plugin"] as const;
const resources = fc.array(
  fc.record({
    kind: fc.constantFrom(...kinds),
    name: fc.constantFrom("users", "a", "b", "team/a", "team/users"),
    spec,
  }),
  { maxLength: 6 },
);

function fill(
  { put }: TestClusterState,
  made: readonly { kind: (typeof kinds)[number]; name: string; spec: Members }[],
): void {
  put("Secret", "users", secretWithKey("some key"));
  put("CoreService", "users", { spec: { ports: [{ port: 80 }] } });
  put("EndpointSlice", "users", {
    endpoints: 7,
    metadata: { name: "", namespace: "", labels: { "kubernetes.io/service-name": "users" } },
  });
  for (const { kind, name, spec } of made) put(kind, name, { spec });
  put("Service", "safe/good", { spec: { url: "http://good.test" } });
  put("Route", "safe/good", { spec: { serviceRef: { name: "good" }, paths: ["/only/this/one"] } });
}

const translated = (clusterState: TestClusterState["clusterState"]) => ({
  ...createTranslate({ homeNamespace: "default", class: "sluice" })(clusterState),
  listeners: new Map(),
});

test("whatever some resources contain, all other resources are served, no plugin outside the home namespace is global, and order does not matter", () => {
  fc.assert(
    fc.property(resources, (made) => {
      const scene = testClusterState();
      fill(scene, made);
      const translation = translated(scene.clusterState);
      const { built, problems } = buildSnapshot(emptyBuild, translation);
      assert.equal(problems.size, 0, "the translation contains no entity that the model refuses");
      assert.ok(
        [...built.snapshot.routes.values()].some(({ name }) => name === "safe.good"),
        "the valid route is missing",
      );
      for (const { owner, entity } of built.items.plugins.values())
        if (owner.namespace !== "default") assert.ok(entity.service ?? entity.route ?? entity.consumer);

      const reversed = Object.fromEntries(
        Object.entries(scene.clusterState).map(([kind, held]) => [
          kind,
          new Map([...(held as Map<string, Resource>)].reverse()),
        ]),
      ) as unknown as TestClusterState["clusterState"];
      assert.deepEqual(
        snapshotToDocument(buildSnapshot(emptyBuild, translated(reversed)).built.snapshot),
        snapshotToDocument(built.snapshot),
      );
    }),
    { numRuns: 300 },
  );
});

test("a route with an enabled key-auth is never open, whatever the key-auth contains", () => {
  fc.assert(
    fc.property(spec, (members) => {
      const { clusterState, put } = testClusterState();
      put("Service", "users", { spec: { url: "http://users.test" } });
      put("Route", "users", { spec: { serviceRef: { name: "users" }, paths: ["/users"] } });
      const { enabled: _enabled, class: _class, ...rest } = members;
      const targetRefs = [{ kind: "Service", name: "users" }];
      put("Plugin", "auth", { spec: { ...rest, plugin: "key-auth", targetRefs } });
      const { snapshot } = buildSnapshot(emptyBuild, translated(clusterState)).built;
      const [only] = [...snapshot.plugins.values()];
      const [service] = snapshot.services.keys();
      assert.deepEqual([only?.name, only?.service?.id, only?.enabled], ["key-auth", service, true]);
    }),
    { numRuns: 300 },
  );
});
