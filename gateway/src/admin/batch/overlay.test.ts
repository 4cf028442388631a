import assert from "node:assert/strict";
import { test } from "node:test";
import { type Collection, checkEntity, type Entities, type Entity } from "@sluice/model";
import type { Write } from "../../stores/store.ts";
import { createTestingStore } from "../testing-store.ts";
import { createOverlay } from "./overlay.ts";

function made<Name extends Collection>(collection: Name, raw: object): Entities[Name] {
  const { value, violations } = checkEntity(collection, raw);
  if (!value) throw new Error(JSON.stringify(violations));
  return value;
}

const create = (collection: Collection, entity: Entity): Write => ({ op: "create", collection, entity });
const replace = (collection: Collection, entity: Entity): Write => ({ op: "replace", collection, entity });
const remove = (collection: Collection, id: string): Write => ({ op: "remove", collection, by: { id } });
const named = (value: string) => ({ member: "name", value });

const shop = made("services", { name: "shop", host: "a" });
const route = made("routes", { name: "route", paths: ["/"], service: { id: shop.id } });
const plugin = made("plugins", { name: "cors", route: { id: route.id } });

async function overlayOf(...writes: readonly Write[]) {
  const { store } = createTestingStore();
  await store.write([create("services", shop), create("routes", route), create("plugins", plugin)]);
  const overlay = createOverlay(store);
  await overlay.apply(writes);
  return overlay;
}

test("an overlay shows the entities of the store below it", async () => {
  const overlay = await overlayOf();
  assert.deepEqual(await overlay.find("services", { id: shop.id }), shop);
  assert.deepEqual(await overlay.find("services", named("shop")), shop);
  const where = { member: "service", id: shop.id };
  assert.deepEqual(await overlay.list("routes", { size: 9, where }), { entities: [route], more: false });
});

test("an overlay finds a renamed entity under its new name only, and another entity that takes the old name", async () => {
  const renamed = { ...shop, name: "store" };
  const overlay = await overlayOf(replace("services", renamed));
  assert.deepEqual(await overlay.find("services", named("store")), renamed);
  assert.equal(await overlay.find("services", named("shop")), null);
  const next = made("services", { id: plugin.id, name: "shop", host: "b" });
  await overlay.apply([create("services", next)]);
  assert.deepEqual(await overlay.find("services", named("shop")), next);
});

test("an overlay hides removed entities and their dependents", async () => {
  const overlay = await overlayOf(remove("routes", route.id));
  assert.equal(await overlay.find("routes", named("route")), null);
  assert.equal(await overlay.find("plugins", { id: plugin.id }), null);
  assert.deepEqual(await overlay.list("plugins", { size: 9 }), { entities: [], more: false });
});

test("an overlay shows an entity that was removed and created again", async () => {
  const overlay = await overlayOf(remove("routes", route.id), create("routes", route));
  assert.deepEqual(await overlay.find("routes", { id: route.id }), route);
});

test("an overlay lists the entities with a certain reference, in pages ordered by id", async () => {
  const more = ["b", "c"].map((name) => made("routes", { name, paths: ["/"], service: { id: shop.id } }));
  const overlay = await overlayOf(...more.map((entity) => create("routes", entity)));
  const where = { member: "service", id: shop.id };
  const all = [route, ...more].sort((one, other) => (one.id < other.id ? -1 : 1));
  const first = await overlay.list("routes", { size: 2, where });
  assert.deepEqual(first, { entities: all.slice(0, 2), more: true });
  const after = first.entities.at(-1)?.id ?? "";
  assert.deepEqual(await overlay.list("routes", { size: 2, where, after }), { entities: all.slice(2), more: false });
  await overlay.apply([replace("routes", { ...route, service: null })]);
  assert.equal((await overlay.list("routes", { size: 9, where })).entities.length, 2);
});

test("an overlay distinguishes targets with the same address by their upstreams", async () => {
  const upstreams = ["one", "two"].map((name) => made("upstreams", { name }));
  const targets = upstreams.map(({ id }) => made("targets", { target: "a:1", upstream: { id } }));
  const overlay = await overlayOf(
    ...upstreams.map((entity) => create("upstreams", entity)),
    ...targets.map((entity) => create("targets", entity)),
  );
  for (const [index, { id }] of upstreams.entries()) {
    const by = { member: "target", value: "a:1", within: { member: "upstream", id } };
    assert.deepEqual(await overlay.find("targets", by), targets[index]);
  }
});
