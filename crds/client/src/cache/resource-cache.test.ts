import assert from "node:assert/strict";
import { test } from "node:test";
import { BATCH } from "../batch.ts";
import {
  type Kind,
  type Observer,
  type Resource,
  type ResourceClient,
  UnknownKind,
  type WatchOptions,
} from "../resource.ts";
import { createResourceCache } from "./resource-cache.ts";

interface Watch extends Omit<WatchOptions, "signal"> {
  readonly kind: Kind;
  readonly observer: Observer;
}

/** A cache of Services and Secrets over watches that the test drives. */
function scene(namespaces: readonly string[] = []) {
  const watches: Watch[] = [];
  const changes: boolean[] = [];
  const versions: string[] = [];
  const objects: string[] = [];
  const version = (resource: Resource | null | undefined) => (resource ? resource.metadata.resourceVersion : resource);
  const client = {
    watch: (kind: Kind, observer: Observer, { signal: _, ...options }: WatchOptions) =>
      watches.push({ kind, observer, ...options }),
  } as unknown as ResourceClient;
  const cache = createResourceCache({
    client,
    kinds: ["Service", "Secret"],
    namespaces,
    signal: new AbortController().signal,
    log: { warn: () => undefined },
    onChange: (meaningful) => changes.push(meaningful),
    onResource: (kind, key, meaningful) => objects.push(`${kind} ${key} ${meaningful}`),
    onVersion: (kind, before, resource) => versions.push(`${kind} ${version(before)} > ${version(resource)}`),
  });
  const watch = (kind: Kind, wanted: Partial<Watch> = {}): Observer => {
    const found = watches.find((one) =>
      Object.entries({ kind, ...wanted }).every(([name, value]) => one[name as keyof Watch] === value),
    );
    assert.ok(found, `there is no such watch of ${kind}`);
    return found.observer;
  };
  return { cache, changes, versions, objects, watches, watch };
}

const resource = (name: string, resourceVersion: string, more: Partial<Resource["metadata"]> = {}): Resource => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: "home", uid: name, resourceVersion, ...more },
});
const names = (held: ReadonlyMap<string, Resource>) =>
  [...held.values()].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort();

test("in each namespace, Secrets are watched by label and by type, and every other kind is watched once", () => {
  const { watches } = scene(["one", "two"]);
  assert.deepEqual(
    watches.map(({ observer: _, ...watch }) => watch),
    [
      { kind: "Service", namespace: "one" },
      { kind: "Service", namespace: "two" },
      { kind: "Secret", namespace: "one", labels: "sluice.dev/credential" },
      { kind: "Secret", namespace: "one", fields: "type=kubernetes.io/tls" },
      { kind: "Secret", namespace: "two", labels: "sluice.dev/credential" },
      { kind: "Secret", namespace: "two", fields: "type=kubernetes.io/tls" },
    ],
  );
});

test("a Secret that two watches deliver is removed when neither delivers it any more", () => {
  const { cache, watch } = scene();
  const [byLabel, byType] = [
    watch("Secret", { labels: "sluice.dev/credential" }),
    watch("Secret", { fields: "type=kubernetes.io/tls" }),
  ];
  byLabel.replaced([resource("both", "1"), resource("key", "1")]);
  byType.replaced([resource("both", "1")]);
  byLabel.replaced([]);
  assert.deepEqual(names(cache.resources.Secret), ["both@1"]);
  byLabel.changed(resource("both", "2"));
  byType.changed(resource("both", "2"));
  byType.removed(resource("both", "3"));
  assert.deepEqual(names(cache.resources.Secret), ["both@2"]);
  byLabel.removed(resource("both", "3"));
  assert.deepEqual(names(cache.resources.Secret), []);
});

test("a kind becomes synced once all of its watches are, and stays synced until the cluster no longer serves it", () => {
  const { cache, watch } = scene();
  watch("Service").replaced([]);
  watch("Secret", { labels: "sluice.dev/credential" }).replaced([]);
  assert.deepEqual(cache.unsynced(), ["Secret"]);
  watch("Secret", { fields: "type=kubernetes.io/tls" }).replaced([]);
  assert.deepEqual(cache.unsynced(), []);
  watch("Service").lost?.(new Error("away for now"));
  assert.deepEqual(cache.unsynced(), []);
  watch("Service").lost?.(new UnknownKind("its CRD is gone"));
  assert.deepEqual(cache.unsynced(), ["Service"]);
});

test("an error of a watch is reported until the kind is read again, and a synced kind stays synced", () => {
  const { cache, watch } = scene();
  const services = watch("Service");
  const byLabel = watch("Secret", { labels: "sluice.dev/credential" });
  const byType = watch("Secret", { fields: "type=kubernetes.io/tls" });
  for (const one of [services, byLabel, byType]) one.replaced([]);
  assert.deepEqual(cache.failures(), []);
  for (const one of [services, byLabel]) one.failure?.(new Error("connect ECONNREFUSED"));
  assert.deepEqual(cache.failures(), ["connect ECONNREFUSED"]);
  byLabel.lost?.(new Error("away for long"));
  assert.deepEqual(cache.failures(), ["connect ECONNREFUSED", "away for long"]);
  services.failure?.(null);
  byLabel.replaced([]);
  assert.deepEqual(cache.failures(), []);
  services.lost?.(new Error("the folder is gone"));
  assert.deepEqual([cache.failures(), cache.unsynced()], [["the folder is gone"], []]);
  services.replaced([]);
  assert.deepEqual(cache.failures(), []);
});

test("a change is reported with the previous version, which is undefined in the first list and null for a new resource", () => {
  const { versions, watch } = scene();
  const services = watch("Service");
  services.replaced([resource("a", "1")]);
  services.changed(resource("a", "2"));
  services.changed(resource("b", "3"));
  services.replaced([resource("a", "4"), resource("c", "5")]);
  assert.deepEqual(versions, [
    "Service undefined > 1",
    "Service 1 > 2",
    "Service null > 3",
    "Service 2 > 4",
    "Service null > 5",
  ]);
});

test("a change of a resource is reported as meaningful only if its spec or its batch marks change", () => {
  const { changes, objects, watch } = scene();
  const services = watch("Service");
  const annotations = { [BATCH]: "0a1b2c3d-0000-4000-8000-000000000000/2" };
  services.replaced([resource("a", "1", { generation: 1 })]);
  services.changed(resource("a", "2", { generation: 1 }));
  services.changed(resource("a", "3", { generation: 2 }));
  services.changed(resource("a", "4", { generation: 2, annotations }));
  services.changed(resource("a", "5", { generation: 2, annotations: { ...annotations, other: "x" } }));
  services.changed(resource("a", "6", { generation: 2 }));
  services.removed(resource("b", "7"));
  assert.deepEqual(changes, [true, false, true, true, false, true]);
  const expected = changes.map((meaningful) => `Service home/a ${meaningful}`);
  assert.deepEqual(objects, expected);
});

const service = (resourceVersion: string, uid = "a"): Resource => resource("a", resourceVersion, { uid });

test("a write is visible at once, and watch events older than the write are ignored", () => {
  const { cache, watch } = scene();
  const observer = watch("Service");
  const there = () => names(cache.resources.Service);
  observer.replaced([service("5")]);
  const written = service("9");
  cache.recordWrite("Service", written);
  assert.deepEqual(there(), ["a@9"]);
  observer.changed(service("7"));
  assert.deepEqual(there(), ["a@9"], "a change older than the write");
  observer.replaced([service("8")]);
  observer.replaced([]);
  assert.deepEqual(there(), ["a@9"], "lists older than the write");
  observer.changed(service("9"));
  assert.equal(cache.resources.Service.get("home/a"), written, "the same version is the same object");
  observer.changed(service("10"));
  assert.deepEqual(there(), ["a@10"]);
  cache.recordWrite("Service", service("8"));
  assert.deepEqual(there(), ["a@10"], "the watch event came before the response");
  cache.recordWrite("Service", service("12"));
  observer.removed(service("13"));
  assert.deepEqual(there(), [], "another client removed it after the write");
});

test("a removed resource is absent at once, and a later resource with the same name is present", () => {
  const { cache, watch } = scene();
  const observer = watch("Service");
  const there = () => names(cache.resources.Service);
  observer.replaced([]);
  cache.recordWrite("Service", service("5"));
  cache.recordWrite("Service", service("5"), { removed: true });
  assert.deepEqual(there(), []);
  for (const version of ["5", "6"]) observer.changed(service(version));
  assert.deepEqual(there(), [], "these versions are older than the removal");
  observer.removed(service("7"));
  observer.changed(service("9", "b"));
  assert.deepEqual(there(), ["a@9"]);
  cache.recordWrite("Service", service("9", "b"), { removed: true });
  observer.changed(service("11", "c"));
  assert.deepEqual(there(), ["a@11"]);
});

test("a pending write expires when the watch delivers a later version of any resource of its kind", () => {
  const { cache, watch } = scene();
  const observer = watch("Service");
  const there = () => names(cache.resources.Service);
  observer.replaced([]);
  cache.recordWrite("Service", service("5"));
  observer.changed(resource("b", "4"));
  assert.deepEqual(there(), ["a@5", "b@4"]);
  // The cache missed the removal of Service `a`, because the watch was interrupted.
  observer.replaced([resource("b", "4")]);
  observer.changed(resource("b", "7"));
  assert.deepEqual(there(), ["b@7"]);
});

test("if resource versions are not numbers, only watch events change the cache", () => {
  const { cache, watch } = scene();
  watch("Service").replaced([service("5f")]);
  cache.recordWrite("Service", service("6f"));
  cache.recordWrite("Service", service("5f"), { removed: true });
  assert.deepEqual(names(cache.resources.Service), ["a@5f"]);
});
