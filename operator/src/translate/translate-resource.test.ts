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
