/** Batches of writes, and dry runs. */
import assert from "node:assert/strict";
import type { Entity } from "@sluice/model";
import type { Effect, Write } from "../../../gateway/src/stores/store.ts";
import {
  certificate,
  consumer,
  credential,
  plugin,
  route,
  service,
  sni,
  target,
  timeless,
  upstream,
} from "./entities.ts";
import { create, remove, replace, type StoreTest } from "./suite.ts";

/** An effect for comparison: entities without timestamps, and dependents as texts. */
const entitiesOf = ({ collection, before, after, along }: Effect) => ({
  collection,
  before: before && timeless(before),
  after: after && timeless(after),
  along: along.map((gone) => `${gone.collection} ${gone.entity.id}`).sort(),
});

async function one(): Promise<readonly Write[]> {
  const users = service("users");
  const web = route({ name: "web", service: { id: users.id } });
  const bob = consumer("bob");
  const pair = await certificate();
  const pool = upstream("pool.example");
  return [
    create("services", users),
    create("routes", web),
    create("plugins", plugin("key-auth", { route: { id: web.id } })),
    create("consumers", bob),
    create("keyauth_credentials", credential(bob, "secret")),
    create("certificates", pair),
    create("snis", sni(pair, "a.example")),
    create("upstreams", pool),
    create("targets", target(pool, "10.0.0.1:80")),
    create("targets", target(pool, "10.0.0.2:80")),
  ];
}

const entityOf = (write: Write): Entity | undefined => (write.op === "remove" ? undefined : write.entity);

export function batches(test: StoreTest): void {
  test("writes many entities in one batch, and each write sees the effects of earlier writes", async (its) => {
    const writes = await one();
    const effects = await its.write(writes);
    assert.deepEqual(
      effects.map(({ collection, after }) => [collection, timeless(after)]),
      writes.map((write) => [write.collection, timeless(entityOf(write))]),
    );
    for (const { collection, after } of effects)
      assert.deepEqual(await its.store.find(collection, { id: after?.id ?? "" }), after);
  });

  test("changes, moves and removes entities in one batch", async (its) => {
    const users = await its.create("services", service("users"));
    const web = await its.create("routes", route({ name: "web", service: { id: users.id } }));
    const limit = await its.create("plugins", plugin("cors", { route: { id: web.id } }));
    const bob = await its.create("consumers", consumer("bob"));
    const key = await its.create("keyauth_credentials", credential(bob, "secret"));
    const other = service("other");
    const effects = await its.write([
      create("services", other),
      replace("routes", { ...web, service: { id: other.id } }),
      remove("services", users.id),
      create("services", service("users", { id: "11111111-1111-4111-8111-111111111111" })),
      remove("keyauth_credentials", key.id),
      create("keyauth_credentials", credential(bob, "secret")),
      replace("consumers", { ...bob, tags: ["a"] }),
    ]);
    assert.deepEqual(effects[2]?.before?.id, users.id);
    assert.deepEqual((await its.store.find("routes", { id: web.id }))?.service, { id: other.id });
    assert.equal((await its.store.find("plugins", { id: limit.id }))?.id, limit.id);
    const found = await its.store.find("keyauth_credentials", { member: "key", value: "secret" });
    assert.ok(found && found.id !== key.id);
    assert.deepEqual((await its.store.find("consumers", { id: bob.id }))?.tags, ["a"]);
    assert.deepEqual((await its.all("services")).length, 2);
  });

  test("leaves no part of entities that were created and removed in one batch", async (its) => {
    const users = service("users");
    const bob = consumer("bob");
    const before = await its.everything();
    await its.write([
      create("services", users),
      create("consumers", bob),
      create("keyauth_credentials", credential(bob, "secret")),
      remove("consumers", bob.id),
      remove("services", users.id),
    ]);
    assert.deepEqual(await its.everything(), before);
  });

  test("writes no entity if one of many writes is refused, and reports the refused write", async (its) => {
    const users = await its.create("services", service("taken"));
    const writes = await one();
    const taken = await its.refused(
      create("services", service("fine")),
      remove("services", users.id),
      create("services", service("fine", { id: "11111111-1111-4111-8111-111111111111" })),
    );
    assert.deepEqual(taken, { fault: { kind: "unique", members: { name: "fine" } }, index: 2 });
    const [first, ...rest] = writes;
    assert.ok(first);
    const late = await its.refused(...rest.slice(0, 1), first);
    assert.deepEqual([late.index, late.fault.kind], [0, "foreign-key"]);
    const lost = await its.refused(
      { op: "replace", collection: "services", entity: { ...users, retries: 1 }, etag: "0000000000000000" },
      create("services", service("fine")),
    );
    assert.deepEqual([lost.index, lost.fault.kind], [0, "changed"]);
  });

  test("plans without writing, and returns the same effects as the write", async (its) => {
    const [users, bob] = [
      await its.create("services", service("users")),
      await its.create("consumers", consumer("bob")),
    ];
    await its.create("keyauth_credentials", credential(bob, "mine"));
    const before = await its.everything();
    const [pair, pool] = [await certificate(), upstream("pool.example")];
    const writes = [
      create("certificates", pair),
      create("snis", sni(pair, "a.example")),
      create("upstreams", pool),
      create("targets", target(pool, "10.0.0.1:80")),
      replace("services", { ...users, retries: 1 }),
      remove("consumers", bob.id),
    ];
    const planned = await its.write(writes, { plan: true });
    assert.deepEqual(await its.everything(), before);
    const written = await its.write(writes);
    assert.deepEqual(planned.map(entitiesOf), written.map(entitiesOf));
    const refused = await its.store.write([create("services", service("users"))], { plan: true });
    assert.equal(refused.fault?.kind, "primary-key");
  });

  test("accepts an empty list of writes", async (its) => {
    assert.deepEqual(await its.write([]), []);
  });
}
