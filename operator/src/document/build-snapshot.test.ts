import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Collection,
  checkEntity,
  collections,
  type DocumentListener,
  deriveId,
  type ServiceEndpoint,
  type UpstreamEndpoint,
} from "@sluice/model";
import type { Owner, TranslationItem } from "../translate/translation.ts";
import { buildSnapshot, emptyBuild, type SnapshotBuildResult } from "./build-snapshot.ts";

type Entity = TranslationItem["entity"];
type Entities = Partial<Record<Collection, readonly Entity[]>>;

const idOf = (collection: Collection, name: string) => deriveId(collection, name);
const make = (collection: Collection, raw: object): Entity => {
  const { value, violations } = checkEntity(collection, raw);
  assert.deepEqual(violations, undefined);
  return value as unknown as Entity;
};
const service = (name: string) => make("services", { name, url: `http://${name}.test` });
const route = (name: string, of: string) =>
  make("routes", {
    name,
    paths: [`/${name}`],
    service: { id: idOf("services", of) },
    _sluice: { namespace: "default" },
  });
const plugin = (name: string, of: string) =>
  make("plugins", {
    name,
    instance_name: `${of}-${name}`,
    service: { id: idOf("services", of) },
    config: { minute: 1 },
  });
const broken = (entity: Entity, members: object): Entity => ({ ...entity, ...members });

const owner = (name: string): Owner => ({ kind: "Service", namespace: "default", name });

/** The parts of a document that are not entities. */
interface Others {
  readonly listeners?: readonly DocumentListener[];
  readonly endpoints?: Readonly<Record<string, readonly ServiceEndpoint[]>>;
  readonly upstream_endpoints?: Readonly<Record<string, readonly UpstreamEndpoint[]>>;
}

function translationOf(entities: Entities, { endpoints = {}, upstream_endpoints = {}, listeners = [] }: Others = {}) {
  const items = Object.fromEntries(
    collections.map((collection) => [
      collection,
      new Map((entities[collection] ?? []).map((entity) => [entity.id, { owner: owner(entity.id), entity }])),
    ]),
  ) as unknown as SnapshotBuildResult["built"]["items"];
  return {
    items,
    endpoints: new Map(Object.entries(endpoints)),
    upstream_endpoints: new Map(Object.entries(upstream_endpoints)),
    listeners: new Map(listeners.map((listener) => [listener.name, listener])),
  };
}
const first = (entities: Entities, others?: Others) => buildSnapshot(emptyBuild, translationOf(entities, others));
const problemOf = ({ problems }: SnapshotBuildResult, { id }: Entity) =>
  problems.get(`Service/default/${id}`)?.[0]?.message;

const [users, posts] = [service("users"), service("posts")];

test("equal items give the same snapshot, and a changed snapshot shares unchanged parts with the previous one", () => {
  const one = first({ services: [users, posts] }).built;
  assert.equal(buildSnapshot(one, translationOf({ services: [users, posts] })).built.snapshot, one.snapshot);
  const two = buildSnapshot(one, translationOf({ services: [users, broken(posts, { host: "new.test" })] })).built;
  assert.equal(two.snapshot.services.get(users.id), one.snapshot.services.get(users.id));
  assert.equal(two.snapshot.services.get(posts.id)?.host, "new.test");
  assert.equal(two.snapshot.routes, one.snapshot.routes);
});

test("new objects with equal content keep the hash", () => {
  const one = first({ services: [users] }).built;
  assert.equal(
    buildSnapshot(one, translationOf({ services: [service("users")] })).built.snapshot.hash,
    one.snapshot.hash,
  );
});

test("a deleted item is removed, with its addresses", () => {
  const one = first({ services: [users, posts] }, { [users.id]: [{ address: "10.0.0.1", port: 1 }] }).built;
  const two = buildSnapshot(one, translationOf({ services: [posts] })).built;
  assert.deepEqual([[...two.snapshot.services.keys()], two.snapshot.endpoints.size], [[posts.id], 0]);
});

test("an entity that the model refuses is left out and reported, and all other entities are served", () => {
  const result = first({ services: [users, broken(posts, { host: 7 })] });
  assert.deepEqual([...result.built.snapshot.services.keys()], [users.id]);
  assert.match(problemOf(result, posts) ?? "", /^host: /);
});

test("many entities that the model refuses are all left out and reported", () => {
  const services = Array.from({ length: 2000 }, (_, index) => broken(service(`s${index}`), { host: 7 }));
  const result = first({ services: [users, ...services] });
  assert.deepEqual([result.built.snapshot.services.size, result.problems.size], [1, 2000]);
});

for (const [when, before] of [
  ["is new", emptyBuild],
  ["was valid before", first({ services: [users, posts], routes: [route("a", "users"), route("b", "posts")] }).built],
] as const)
  test(`routes of a service that ${when} and that the model refuses answer 503`, () => {
    const [a, b] = [route("a", "users"), route("b", "posts")];
    const result = buildSnapshot(
      before,
      translationOf({ services: [users, broken(posts, { host: 7 })], routes: [a, b] }),
    );
    const { routes } = result.built.snapshot;
    assert.deepEqual(routes.get(a.id)?.service, { id: users.id });
    assert.equal(routes.get(b.id)?.service, null);
    assert.match(routes.get(b.id)?._sluice?.unavailable ?? "", /services/);
  });

test("of the plugins that the model refuses, a protecting one answers 503 and any other is left out", () => {
  const limit = broken(plugin("rate-limiting", "users"), { config: { minute: "many" } });
  const prometheus = make("plugins", { name: "prometheus", service: { id: users.id } });
  const result = first({ services: [users], plugins: [limit, broken(prometheus, { config: { x: 1 } })] });
  const [only, ...more] = [...result.built.snapshot.plugins.values()];
  assert.deepEqual([only?.name, more.length], ["rate-limiting", 0]);
  assert.match(only?._sluice?.unavailable ?? "", /minute: expected a number/);
});

test("a protecting plugin that is refused answers 503 even if the reason is longer than the model allows", () => {
  const limit = broken(plugin("rate-limiting", "users"), { config: { minute: 1, [`x${"y".repeat(3000)}`]: 1 } });
  const result = first({ services: [users], plugins: [limit] });
  assert.equal(result.built.snapshot.plugins.size, 1);
});

test("plugins of a service that is left out are left out too", () => {
  const limit = plugin("rate-limiting", "posts");
  const before = first({ services: [posts], plugins: [limit] }).built;
  const result = buildSnapshot(before, translationOf({ services: [broken(posts, { port: -1 })], plugins: [limit] }));
  assert.deepEqual([result.built.snapshot.services.size, result.built.snapshot.plugins.size], [0, 0]);
});

test("invalid addresses become an empty list, for which nodes answer 503, and do not block publishing", () => {
  const result = first(
    { services: [users, posts] },
    {
      endpoints: {
        [users.id]: [{ address: "users.test", port: 80 }],
        [posts.id]: [{ address: "10.0.0.1", port: 80 }],
      },
    },
  );
  const { endpoints } = result.built.snapshot;
  assert.deepEqual([endpoints.get(users.id), endpoints.get(posts.id)?.length], [[], 1]);
  assert.match(problemOf(result, users) ?? "", /not an IP address: users.test/);
});

test("invalid addresses of an upstream become an empty list, even if a service has the same id", () => {
  const pool = make("upstreams", { name: "pool", id: users.id });
  const one = { address: "10.0.0.1", port: 80 };
  const result = first(
    { services: [users], upstreams: [pool] },
    { endpoints: { [users.id]: [one] }, upstream_endpoints: { [pool.id]: [{ ...one, weight: 0.5 }] } },
  );
  const { endpoints, upstream_endpoints } = result.built.snapshot;
  assert.deepEqual([endpoints.get(users.id), upstream_endpoints.get(pool.id)], [[one], []]);
  assert.match(problemOf(result, pool) ?? "", /weight: expected an integer/);
});

test("an invalid listener is left out and reported, and the others are published", () => {
  const [web, bad] = ["web", "bad"].map((name) => ({ name, port: 9000, public_port: 80, protocol: "http" }) as const);
  const listeners = [web, { ...bad, port: 70_000 }] as DocumentListener[];
  const { built, invalidListeners } = first({ services: [users] }, { listeners });
  assert.deepEqual([...built.snapshot.listeners.keys()], ["web"]);
  assert.deepEqual([...invalidListeners], [["bad", "port: value should be between 1 and 65535"]]);
  const repaired = buildSnapshot(built, translationOf({ services: [users] }, { listeners: [bad as DocumentListener] }));
  assert.deepEqual([...repaired.built.snapshot.listeners.values()], [bad]);
});

test("a refused item is tried again when it has changed", () => {
  const one = first({ services: [broken(posts, { host: 7 })] }).built;
  assert.equal(buildSnapshot(one, translationOf({ services: [posts] })).built.snapshot.services.size, 1);
});
