import assert from "node:assert/strict";
import { test } from "node:test";
import { apiVersion } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import { createResourceLookups } from "./resource-lookups.ts";
import { type TrackedTranslation, translateTracked } from "./tracked-translation.ts";
import { createTranslationCache, type PreviousTranslation } from "./translation-cache.ts";

function resource(kind: "Service" | "Route", { uid = "1", generation = 1, spec = {} } = {}): Resource {
  return { apiVersion, kind, metadata: { namespace: "default", name: "web", uid, generation }, spec };
}
const route = (generation = 1, uid = "1") =>
  resource("Route", { generation, uid, spec: { serviceRef: { name: "web" }, paths: ["/"] } });
const service = (id: string) => resource("Service", { spec: { id, url: "http://up.test" } });
const ids = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"] as const;

function scene() {
  const services = new Map([["default/web", service(ids[0])]]);
  const previous: (PreviousTranslation<TrackedTranslation> | undefined)[] = [];
  const lookups = createResourceLookups({
    homeNamespace: "default",
    isOwn: ({ spec }) => spec?.class === undefined,
  }).lookupsIn({ Service: services }, { isReferenceAllowed: () => false, namespacesOpenTo: () => [] });
  const cache = createTranslationCache<TrackedTranslation>({
    versionOf: ({ metadata }) => metadata.generation,
    translate(one, from, before) {
      previous.push(before);
      const value = translateTracked(one, { homeNamespace: "default", audience: "nodes" }, from);
      return { value, isCurrent: value.isCurrent };
    },
  });
  return { services, previous, cache, translate: (one: Resource) => cache.translate(one, lookups) };
}
const serviceOf = ({ translated: [first] }: TrackedTranslation) => first?.item.service;

test("a resource that is read again in the same generation has the identical translation, whose dependencies are the keys of its lookups", () => {
  const { translate } = scene();
  const first = translate(route());
  assert.equal(translate(route()), first);
  assert.deepEqual([...first.dependencies], ["Service/default/web"]);
});

test("a resource with a new generation or uid is translated again; the translator gets the previous translation for this name, and whether it was of the same object", () => {
  const { translate, previous } = scene();
  const first = translate(route());
  const second = translate(route(2));
  translate(route(2, "2"));
  assert.notEqual(second, first);
  assert.deepEqual(previous, [undefined, { value: first, isSameObject: true }, { value: second, isSameObject: false }]);
});

test("a resource is translated again when one of its lookups has a different result", () => {
  const { translate, services } = scene();
  const same = route();
  assert.deepEqual(serviceOf(translate(same)), { id: ids[0] });
  services.set("default/web", service(ids[1]));
  assert.deepEqual(serviceOf(translate(same)), { id: ids[1] });
  services.set("default/web", { ...service(ids[1]), spec: { class: "other" } });
  assert.deepEqual(serviceOf(translate(same)), {}, "a resource of another class counts as absent");
});

test("a resource is translated again after forget or after keepOnly without its key, but not after keepOnly with its key", () => {
  const { translate, cache } = scene();
  const first = translate(route());
  cache.keepOnly(new Map([["Route/default/web", null]]));
  assert.equal(translate(route()), first);
  cache.forget("Route/default/web");
  const second = translate(route());
  assert.notEqual(second, first);
  cache.keepOnly(new Map());
  assert.notEqual(translate(route()), second);
});

test("the object of an earlier generation keeps its translation until the resource's key is forgotten", () => {
  const { translate, cache } = scene();
  const earlier = route();
  const first = translate(earlier);
  translate(route(2));
  assert.equal(translate(earlier), first);
  cache.forget("Route/default/web");
  assert.notEqual(translate(earlier), first);
});
