import assert from "node:assert/strict";
import { test } from "node:test";
import { secretWithKey, testClusterState } from "./testing-cluster-state.ts";
import type { Translation } from "./translation.ts";
import { createTranslate } from "./translator.ts";

function scene() {
  const made = testClusterState();
  const translate = createTranslate({ homeNamespace: "default", class: "sluice" });
  const { put } = made;
  put("Service", "users", { spec: { url: "http://users.test" } });
  put("Route", "users", { spec: { serviceRef: { name: "users" }, paths: ["/users"] } });
  put("Secret", "a", secretWithKey("key of a"));
  put("Secret", "b", secretWithKey("key of b"));
  put("Consumer", "a", { spec: { username: "a", keyAuth: [{ secretRef: { name: "a", key: "key" } }] } });
  put("Consumer", "b", { spec: { username: "b", keyAuth: [{ secretRef: { name: "b", key: "key" } }] } });
  return { ...made, run: () => translate(made.clusterState) };
}
const entities = ({ items }: Translation) =>
  Object.values(items).flatMap((collection) => [...collection.values()].map(({ entity }) => entity));
const changed = (before: Translation, after: Translation) => {
  const known = new Set(entities(before));
  return entities(after).filter((entity) => !known.has(entity));
};

test("the same cluster state gives the same objects", () => {
  const { run } = scene();
  const first = run();
  assert.equal(entities(first).length, 6);
  assert.deepEqual(changed(first, run()), []);
});

test("a change of the status gives the same objects, because the generation is the same", () => {
  const { clusterState, run } = scene();
  const first = run();
  const before = clusterState.Route.get("default/users");
  assert.ok(before);
  const labelled = { ...before, status: { conditions: [] }, metadata: { ...before.metadata, resourceVersion: "99" } };
  (clusterState.Route as Map<string, typeof before>).set("default/users", labelled);
  assert.deepEqual(changed(first, run()), []);
});

test("after a change of the spec of a resource, only this resource is translated again", () => {
  const { put, run } = scene();
  const first = run();
  put("Route", "users", { spec: { serviceRef: { name: "users" }, paths: ["/people"] } });
  assert.deepEqual(
    changed(first, run()).map(({ paths }) => paths),
    [["/people"]],
  );
});

test("after a change of a Secret, only the Consumer that refers to the Secret is translated again", () => {
  const { put, run } = scene();
  const first = run();
  put("Secret", "a", secretWithKey("another key"));
  const after = run();
  const names = changed(first, after).map(({ username, consumer }) => username ?? (consumer as object));
  const { id } = entities(after).find(({ username }) => username === "a") ?? {};
  assert.deepEqual(names, ["a", { id }]);
});

test("routes that refer to a created or deleted Service are translated again", () => {
  const { put, remove, run } = scene();
  const first = run();
  remove("Service", "users");
  const [route, ...more] = changed(first, run());
  assert.deepEqual([route?.service, more], [null, []]);
  put("Service", "users", { spec: { url: "http://users.test" } });
  assert.equal(run().problems.size, 0);
});

test("a resource that replaces a deleted resource with the same name is translated again", () => {
  const { put, remove, run } = scene();
  run();
  remove("Service", "users");
  put("Service", "users", { spec: { url: "http://other.test" } });
  const [service] = run().items.services.values();
  assert.equal(service?.entity.host, "other.test");
});

test("a resource that leaves the class and returns is served again", () => {
  const { put, run } = scene();
  run();
  put("Service", "users", { spec: { url: "http://users.test", class: "other" } });
  assert.equal(run().items.services.size, 0);
  put("Service", "users", { spec: { url: "http://users.test" } });
  assert.deepEqual([run().items.services.size, run().problems.size], [1, 0]);
});

/** The names or ids in the config, the GraphQLDocuments that exist, and the message of the condition. */
const namedDocuments: readonly (readonly [
  what: string,
  named: string,
  existing: readonly (readonly [key: string, spec: object])[],
  missing: boolean,
])[] = [
  ["by the name of the resource", "web", [["web", {}]], false],
  ["by spec.name", "shop-web", [["web", { name: "shop-web" }]], false],
  [
    "by spec.id",
    "3f0e8f5a-6f5f-4a53-9d2e-0d6f3b7f6f01",
    [["web", { id: "3f0e8f5a-6f5f-4a53-9d2e-0d6f3b7f6f01" }]],
    false,
  ],
  ["in another namespace", "team.web", [["team/web", {}]], false],
  ["in another namespace without its prefix", "web", [["team/web", {}]], true],
  ["of another class", "web", [["web", { class: "other" }]], true],
  ["that do not exist", "web", [], true],
];

const graphqlPlugin = (named: string, members: object = {}) => ({
  spec: {
    plugin: "graphql",
    targetRefs: [{ kind: "Service", name: "users" }],
    config: { trusted_documents: { documents: [named] }, ...members },
  },
});

for (const [what, named, existing, missing] of namedDocuments)
  test(`a Plugin that names GraphQL documents ${what} ${missing ? "reports them" : "has no problem"}`, () => {
    const { put, run } = scene();
    for (const [key, spec] of existing) put("GraphQLDocuments", key, { spec: { manifest: "{}", ...spec } });
    put("Plugin", "graphql", graphqlPlugin(named));
    const { problems, items } = run();
    assert.equal(items.plugins.size, 1);
    const expected = {
      condition: "ResolvedRefs",
      reason: "GraphQLDocumentsNotFound",
      message: `spec.config.trusted_documents.documents[0]: there are no GraphQLDocuments with the name or id ${named}: requests in the scope of the plugin are answered with 503 until they exist`,
      outcome: "the rest of the resource is served",
    };
    assert.deepEqual(problems.get("Plugin/default/graphql") ?? [], missing ? [expected] : []);
  });

test("the problem of a Plugin that names GraphQL documents follows their creation and deletion", () => {
  const { put, remove, run } = scene();
  put("Plugin", "graphql", graphqlPlugin("web"));
  const messages = () => run().problems.get("Plugin/default/graphql")?.length ?? 0;
  const seen = [messages()];
  put("GraphQLDocuments", "web", { spec: { manifest: "{}" } });
  seen.push(messages());
  put("GraphQLDocuments", "web", { spec: { manifest: "{}", name: "other" } });
  seen.push(messages());
  remove("GraphQLDocuments", "web");
  put("GraphQLDocuments", "later", { spec: { manifest: "{}", name: "web" } });
  seen.push(messages());
  assert.deepEqual(seen, [1, 0, 1, 0]);
});

test("a Plugin that does not enforce its documents says that missing ones count as not trusted", () => {
  const { put, run } = scene();
  put("Plugin", "graphql", graphqlPlugin("web", { enforce: false }));
  assert.match(
    `${run().problems.get("Plugin/default/graphql")?.[0]?.message}`,
    /count as not trusted until they exist$/,
  );
});

const protocolPlugin = (members: object = {}) => ({
  spec: { plugin: "file-log", config: { path: "/dev/null" }, targetRefs: [{ kind: "Route", name: "db" }], ...members },
});
const mismatched = (effect: string, protocols = "grpc, grpcs, http, https", ofRoute = "tcp") => ({
  condition: "ResolvedRefs",
  reason: "ProtocolMismatch",
  message: `spec.protocols: the protocols of the plugin (${protocols}) match none of the route's (${ofRoute}): ${effect}`,
  isWarning: true,
});
const [noEffect, closes] = [
  "the plugin has no effect on the route",
  "the connections are closed, because the plugin acts on requests only",
];

for (const [what, spec, expected] of [
  ["without protocols", {}, mismatched(noEffect)],
  ["with protocols of requests", { protocols: ["https"] }, mismatched(noEffect, "https")],
  ["that protects and acts on requests only", { plugin: "key-auth", config: {} }, mismatched(closes)],
  ["with a protocol of the Route", { protocols: ["http", "tcp"] }, null],
  ["whose default protocols cover connections", { plugin: "ip-restriction", config: { deny: ["10.0.0.1"] } }, null],
  [
    "that limits connections whatever its protocols are",
    { plugin: "concurrency-limiting", config: { limit: 1 } },
    null,
  ],
  ["that is disabled", { enabled: false }, null],
] as const)
  test(`a Plugin ${what} ${expected === null ? "has no problem" : "reports that it does not match"} on a Route for tcp`, () => {
    const { put, run } = scene();
    put("Service", "db", { spec: { url: "tcp://db.test:5432" } });
    put("Route", "db", { spec: { protocols: ["tcp"], destinations: [{ port: 1 }], serviceRef: { name: "db" } } });
    put("Plugin", "log", protocolPlugin(spec));
    const { problems, items } = run();
    assert.equal(items.plugins.size, 1);
    assert.deepEqual(problems.get("Plugin/default/log") ?? [], expected === null ? [] : [expected]);
  });

for (const [what, routes, expected] of [
  ["without Routes", [], null],
  ["with a Route that has one of its protocols", [["tls"], ["https"]], null],
  ["whose Routes all have other protocols", [["tls"], ["tcp"]], mismatched(noEffect, "grpc, grpcs, http, https")],
] as const)
  test(`a Plugin ${expected === null ? "has no problem" : "reports that it does not match"} on a Service ${what}`, () => {
    const { put, run } = scene();
    put("Service", "db", { spec: { url: "tcp://db.test:5432" } });
    for (const [index, protocols] of routes.entries())
      put("Route", `db-${index}`, {
        spec: { protocols, snis: ["db.test"], destinations: [{ port: 1 }], serviceRef: { name: "db" } },
      });
    put("Route", "db-foreign", { spec: { protocols: ["http"], class: "other", serviceRef: { name: "db" } } });
    put("Plugin", "log", protocolPlugin({ targetRefs: [{ kind: "Service", name: "db" }] }));
    assert.deepEqual(run().problems.get("Plugin/default/log") ?? [], expected === null ? [] : [expected]);
  });

const reasonsOf = (translation: Translation) =>
  (translation.problems.get("Plugin/default/log") ?? []).map(({ reason }) => reason);

test("when Routes change incrementally, the problem of a Plugin whose protocols do not match changes too", () => {
  const { clusterState, put, remove } = scene();
  const translate = createTranslate({ homeNamespace: "default", class: "sluice" });
  const tcp = { protocols: ["tcp"], destinations: [{ port: 1 }], serviceRef: { name: "users" } };
  const http = { paths: ["/users"], serviceRef: { name: "users" } };
  const target = (kind: string, name: string) => protocolPlugin({ targetRefs: [{ kind, name }] });
  const seen: string[][] = [];
  for (const kind of ["Route", "Service"]) {
    put("Route", "users", { spec: http });
    put("Plugin", "log", target(kind, "users"));
    seen.push(reasonsOf(translate(clusterState)));
    const follow = (name: string) => seen.push(reasonsOf(translate(clusterState, new Set([`Route/default/${name}`]))));
    put("Route", "users", { spec: tcp });
    follow("users");
    put("Route", "more", { spec: http });
    follow("more");
    remove("Route", "more");
    follow("more");
  }
  const mismatch = ["ProtocolMismatch"];
  assert.deepEqual(seen, [[], mismatch, mismatch, mismatch, [], mismatch, [], mismatch]);
});

test("the problem of a Plugin whose protocols do not match follows those of its Route", () => {
  const { put, remove, run } = scene();
  put("Plugin", "log", protocolPlugin({ protocols: ["http"] }));
  const reasons = () => reasonsOf(run());
  const seen = [reasons()];
  for (const spec of [
    { protocols: ["tcp"], destinations: [{ port: 1 }] },
    { paths: ["/"] },
    { protocols: ["grpc"], paths: ["/"] },
  ]) {
    put("Route", "db", { spec });
    seen.push(reasons());
  }
  remove("Route", "db");
  seen.push(reasons());
  assert.deepEqual(seen, [["RouteNotFound"], ["ProtocolMismatch"], [], ["ProtocolMismatch"], ["RouteNotFound"]]);
});
