/** A resource cache with a namespace selector, and with kinds that a cluster need not serve. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Kind,
  type Observer,
  type Resource,
  type ResourceClient,
  UnknownKind,
  type WatchOptions,
} from "../resource.ts";
import { createResourceCache } from "./resource-cache.ts";

function scene({ selects = true } = {}) {
  const watches = new Map<Kind, { readonly observer: Observer; readonly options: Partial<WatchOptions> }>();
  const changes: boolean[] = [];
  const versions: string[] = [];
  const moved: string[] = [];
  const warnings: string[] = [];
  const client = {
    watch(kind: Kind, observer: Observer, { signal: _, ...options }: WatchOptions) {
      watches.set(kind, { observer, options });
    },
  } as unknown as ResourceClient;
  const cache = createResourceCache({
    client,
    kinds: ["Route", "EndpointSlice", "ReferenceGrant"],
    namespaces: [],
    ...(selects && { namespaceSelector: { labels: "team=a", always: ["home"] } }),
    optional: ["ReferenceGrant"],
    signal: new AbortController().signal,
    log: { warn: (_, message) => warnings.push(message) },
    onChange: (meaningful) => changes.push(meaningful),
    onVersion: (kind, before, { metadata }) =>
      versions.push(`${kind} ${metadata.namespace}/${metadata.name} after ${before === undefined ? "?" : before}`),
    onResource: (_, key) => moved.push(key),
  });
  const watch = (kind: Kind): Observer => {
    const found = watches.get(kind);
    assert.ok(found, `there is no watch of ${kind}`);
    return found.observer;
  };
  const routes = () => [...cache.resources.Route.keys()].sort();
  return { cache, changes, versions, moved, warnings, watches, watch, routes };
}

const named = (namespace: string, name: string, resourceVersion = "1"): Resource => ({
  apiVersion: "v1",
  kind: "Any",
  metadata: { namespace, name, uid: `${namespace}/${name}`, resourceVersion, generation: Number(resourceVersion) },
});
const space = (name: string): Resource => named("", name);

function read(all: ReturnType<typeof scene>): void {
  all.watch("Route").replaced([named("home", "r"), named("one", "r"), named("two", "r")]);
  all.watch("EndpointSlice").replaced([named("two", "slice")]);
  all.watch("ReferenceGrant").replaced([]);
}

test("the cache is not synced before the selected namespaces are known", () => {
  const all = scene();
  assert.deepEqual(all.watches.get("Namespace")?.options, { labels: "team=a" });
  read(all);
  assert.deepEqual(all.cache.unsynced(), ["Namespace"]);
  all.watch("Namespace").replaced([]);
  assert.deepEqual(all.cache.unsynced(), []);
  assert.deepEqual(all.changes.at(-1), true);
});

test("selecting a namespace adds all its resources, and deselecting it removes them", () => {
  const all = scene();
  read(all);
  all.watch("Namespace").replaced([space("one")]);
  assert.deepEqual(all.routes(), ["home/r", "one/r"]);
  all.watch("Namespace").changed(space("two"));
  assert.deepEqual(all.routes(), ["home/r", "one/r", "two/r"]);
  all.moved.length = 0;
  all.watch("Namespace").removed(space("one"));
  assert.deepEqual([all.routes(), all.moved], [["home/r", "two/r"], ["one/r"]]);
  all.watch("Namespace").replaced([space("one")]);
  assert.deepEqual(all.routes(), ["home/r", "one/r"]);
});

test("changes in an unselected namespace are not reported until it is selected", () => {
  const all = scene();
  read(all);
  all.watch("Namespace").replaced([]);
  for (const list of [all.changes, all.versions, all.moved]) list.length = 0;
  all.watch("Route").changed(named("one", "r", "2"));
  all.watch("Route").changed(named("one", "new"));
  all.watch("Route").removed(named("two", "r"));
  assert.deepEqual([all.changes, all.versions, all.moved], [[], [], []]);
  all.watch("Namespace").replaced([space("one"), space("two")]);
  assert.deepEqual(all.routes(), ["home/r", "one/new", "one/r"]);
  assert.equal(all.cache.resources.Route.get("one/r")?.metadata.resourceVersion, "2");
  assert.deepEqual(all.versions.sort(), ["Route one/new after ?", "Route one/r after ?"]);
});

test("a Namespace event that does not change the selection has no effect", () => {
  const all = scene();
  read(all);
  all.watch("Namespace").replaced([space("one")]);
  all.changes.length = 0;
  all.watch("Namespace").changed(space("one"));
  all.watch("Namespace").removed(space("two"));
  all.watch("Namespace").replaced([space("one")]);
  assert.deepEqual(all.changes, []);
});

test("EndpointSlices are cached from every namespace, so that nodes are found in all of them", () => {
  const all = scene();
  read(all);
  all.watch("Namespace").replaced([]);
  assert.deepEqual([...all.cache.resources.EndpointSlice.keys()], ["two/slice"]);
});

test("an error that keeps namespaces from being read is reported, and the selection stays as it was", () => {
  const all = scene();
  read(all);
  all.watch("Namespace").replaced([space("one")]);
  all.watch("Namespace").failure?.(new Error("connect ECONNREFUSED"));
  assert.deepEqual(all.cache.failures(), ["connect ECONNREFUSED"]);
  all.watch("Namespace").lost?.(new Error("namespaces is forbidden"));
  assert.deepEqual([all.cache.failures(), all.routes()], [["namespaces is forbidden"], ["home/r", "one/r"]]);
  all.watch("Namespace").failure?.(null);
  assert.deepEqual(all.cache.failures(), []);
});

test("an optional kind counts as synced while its CRD is missing, and its resources disappear with the CRD", () => {
  const all = scene({ selects: false });
  const grants = all.watch("ReferenceGrant");
  all.watch("Route").replaced([]);
  all.watch("EndpointSlice").replaced([]);
  grants.failure?.(new UnknownKind("the cluster has none"));
  grants.lost?.(new UnknownKind("the cluster has none"));
  assert.deepEqual([all.cache.unsynced(), all.cache.failures(), all.warnings], [[], [], []]);
  grants.replaced([named("one", "grant")]);
  assert.equal(all.cache.resources.ReferenceGrant.size, 1);
  grants.lost?.(new Error("referencegrants is forbidden"));
  assert.deepEqual(
    [all.cache.resources.ReferenceGrant.size, all.cache.failures()],
    [1, ["referencegrants is forbidden"]],
  );
  grants.lost?.(new UnknownKind("its CRD is gone"));
  assert.deepEqual([all.cache.resources.ReferenceGrant.size, all.cache.unsynced()], [0, []]);
  all.watch("Route").lost?.(new UnknownKind("its CRD is gone"));
  assert.deepEqual(all.cache.unsynced(), ["Route"]);
});
