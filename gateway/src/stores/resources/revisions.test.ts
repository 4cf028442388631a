import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { encodeChanges, type RecordedChange, type Resource, type RevisionStorage, type SluiceKind } from "@sluice/crds";
import { readAll } from "../read-all.ts";
import { writesToUndo } from "../revisions/net-changes.ts";
import { createResourceStore } from "./index.ts";
import { createResourceRevisions } from "./revisions.ts";
import { createTestingCluster } from "./testing-cluster.ts";
import type { ViewContext } from "./view/build-view.ts";

const resource = (kind: SluiceKind, place: string, spec: object): Resource => {
  const [namespace = "", name = ""] = place.split("/");
  return { apiVersion: "sluice.dev/v1alpha1", kind, metadata: { name, namespace }, spec: { ...spec } };
};

/** A store over these resources, with one revision that changed the first of them from `before`. */
async function storeAfter(t: TestContext, before: Resource, after: Resource | null, others: readonly Resource[] = []) {
  const client = createTestingCluster({ delay: () => 0 }).client();
  for (const one of after ? [...others, after] : others)
    await client.apply(one.kind as SluiceKind, one, { manager: "kubectl" });
  const { name, namespace } = before.metadata;
  const change: RecordedChange = { kind: before.kind as SluiceKind, namespace, name, before, after };
  const content = await encodeChanges([change]);
  const counts = { created: 0, changed: 1, deleted: 0 };
  const newest = { number: 2, time: 2, author: "kubectl", counts, state: "" };
  const revisions: RevisionStorage = {
    list: async () => [{ ...newest, number: 1, time: 1 }, newest],
    content: async () => content,
    add: async () => false,
    remove: async () => {},
    close: async () => {},
  };
  const closing = new AbortController();
  t.after(() => closing.abort());
  const options = { client, revisions, homeNamespace: "default", class: "sluice", signal: closing.signal };
  const log = { info() {}, warn() {}, error() {} };
  const store = createResourceStore({ ...options, log, awaitNodes: async () => null });
  const { changes } = (await store.revisions?.changes({ after: 1, to: 2 })) ?? {};
  assert.ok(changes);
  return { store, changes, undo: writesToUndo(await readAll(store), changes, { database: false, now: 1 }) };
}

test("a resource that a change made invalid can be restored", async (t) => {
  const before = resource("Service", "default/users", { url: "http://users.test" });
  const after = resource("Service", "default/users", { url: "no URL" });
  const { store, changes, undo } = await storeAfter(t, before, after);
  assert.partialDeepStrictEqual(changes, [{ collection: "services", before: { host: "users.test" }, after: null }]);
  const outcome = await store.write(undo.writes ?? assert.fail(), { force: true });
  assert.equal(outcome.fault, undefined, JSON.stringify(outcome.fault));
  assert.equal((await store.find("services", { member: "name", value: "users" }))?.host, "users.test");
});

test("a deleted route is shown with the service that it referred to", async (t) => {
  const service = resource("Service", "default/users", { url: "http://users.test" });
  const route = resource("Route", "default/users", { paths: ["/"], serviceRef: { name: "users" } });
  const { changes } = await storeAfter(t, route, null, [service]);
  assert.partialDeepStrictEqual(changes, [{ collection: "routes", before: { name: "users" }, after: null }]);
});

test("changes are reported as missing if their content was deleted after the list was read", async () => {
  const counts = { created: 0, changed: 1, deleted: 0 };
  const storage = {
    list: async () => [{ number: 2, time: 2, author: "kubectl", counts, state: "" }],
    content: async () => null,
  };
  const unused = { view: () => assert.fail(), context: {} as ViewContext, homeNamespace: "default" };
  const { missing } = await createResourceRevisions({ storage, ...unused }).changes({ after: 1, to: 2 });
  assert.match(missing ?? "", /^the changes of revision 2 \(kubectl\) are not kept: .* 512 KiB after compression$/);
});

const refused: readonly (readonly [what: string, before: Resource, reason: RegExp])[] = [
  [
    "a deleted resource of another namespace",
    resource("Service", "shop/users", { url: "http://users.test" }),
    /^its resource was in another namespace/,
  ],
  [
    "a credential whose Secret was deleted",
    resource("Consumer", "default/ann", {
      username: "ann",
      keyAuth: [{ secretRef: { name: "ann", key: "key" } }],
    }),
    /^the Secret that it refers to no longer exists/,
  ],
  [
    "a deleted plugin with values from Secrets",
    resource("Plugin", "default/limit", {
      plugin: "rate-limiting",
      config: { minute: 5, policy: "redis", redis: { host: "redis.test" } },
      configFrom: [{ path: "redis.password", secretRef: { name: "redis", key: "password" } }],
    }),
    /Secret/,
  ],
];
for (const [what, before, reason] of refused)
  test(`a rollback does not create ${what} again`, async (t) => {
    const { undo } = await storeAfter(t, before, null);
    assert.match(undo.violations?.[0]?.message ?? "", reason);
  });
