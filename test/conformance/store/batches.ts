/** Batches of writes, and dry runs. */
import assert from "node:assert/strict";
import type { Entity } from "@sluice/model";
import type { Effect, Write } from "../../../gateway/src/stores/store.ts";
import {
  certificateEntity,
  consumerEntity,
  credentialEntity,
  pluginEntity,
  routeEntity,
  serviceEntity,
  sniEntity,
  targetEntity,
  upstreamEntity,
  withoutTimestamps,
} from "./entities.ts";
import { createWrite, removeWrite, replaceWrite, type StoreTest } from "./suite.ts";

/** An effect for comparison: entities without timestamps, and dependents as texts. */
const entitiesOf = ({ collection, before, after, along }: Effect) => ({
  collection,
  before: before && withoutTimestamps(before),
  after: after && withoutTimestamps(after),
  along: along.map((gone) => `${gone.collection} ${gone.entity.id}`).sort(),
});

async function one(): Promise<readonly Write[]> {
  const users = serviceEntity("users");
  const web = routeEntity({ name: "web", service: { id: users.id } });
  const bob = consumerEntity("bob");
  const pair = await certificateEntity();
  const pool = upstreamEntity("pool.example");
  return [
    createWrite("services", users),
    createWrite("routes", web),
    createWrite("plugins", pluginEntity("key-auth", { route: { id: web.id } })),
    createWrite("consumers", bob),
    createWrite("keyauth_credentials", credentialEntity(bob, "secret")),
    createWrite("certificates", pair),
    createWrite("snis", sniEntity(pair, "a.example")),
    createWrite("upstreams", pool),
    createWrite("targets", targetEntity(pool, "10.0.0.1:80")),
    createWrite("targets", targetEntity(pool, "10.0.0.2:80")),
  ];
}

const entityOf = (write: Write): Entity | undefined => (write.op === "remove" ? undefined : write.entity);

export function testBatches(test: StoreTest): void {
  test("writes many entities in one batch, and each write sees the effects of earlier writes", async (its) => {
    const writes = await one();
    const effects = await its.write(writes);
    assert.deepEqual(
      effects.map(({ collection, after }) => [collection, withoutTimestamps(after)]),
      writes.map((write) => [write.collection, withoutTimestamps(entityOf(write))]),
    );
    for (const { collection, after } of effects)
      assert.deepEqual(await its.store.find(collection, { id: after?.id ?? "" }), after);
  });

  test("changes, moves and removes entities in one batch", async (its) => {
    const users = await its.create("services", serviceEntity("users"));
    const web = await its.create("routes", routeEntity({ name: "web", service: { id: users.id } }));
    const limit = await its.create("plugins", pluginEntity("cors", { route: { id: web.id } }));
    const bob = await its.create("consumers", consumerEntity("bob"));
    const key = await its.create("keyauth_credentials", credentialEntity(bob, "secret"));
    const other = serviceEntity("other");
    const effects = await its.write([
      createWrite("services", other),
      replaceWrite("routes", { ...web, service: { id: other.id } }),
      removeWrite("services", users.id),
      createWrite("services", serviceEntity("users", { id: "11111111-1111-4111-8111-111111111111" })),
      removeWrite("keyauth_credentials", key.id),
      createWrite("keyauth_credentials", credentialEntity(bob, "secret")),
      replaceWrite("consumers", { ...bob, tags: ["a"] }),
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
    const users = serviceEntity("users");
    const bob = consumerEntity("bob");
    const before = await its.everything();
    await its.write([
      createWrite("services", users),
      createWrite("consumers", bob),
      createWrite("keyauth_credentials", credentialEntity(bob, "secret")),
      removeWrite("consumers", bob.id),
      removeWrite("services", users.id),
    ]);
    assert.deepEqual(await its.everything(), before);
  });

  test("writes no entity if one of many writes is refused, and reports the refused write", async (its) => {
    const users = await its.create("services", serviceEntity("taken"));
    const writes = await one();
    const taken = await its.refused(
      createWrite("services", serviceEntity("fine")),
      removeWrite("services", users.id),
      createWrite("services", serviceEntity("fine", { id: "11111111-1111-4111-8111-111111111111" })),
    );
    assert.deepEqual(taken, { fault: { kind: "unique", members: { name: "fine" } }, index: 2 });
    const [first, ...rest] = writes;
    assert.ok(first);
    const late = await its.refused(...rest.slice(0, 1), first);
    assert.deepEqual([late.index, late.fault.kind], [0, "foreign-key"]);
    const lost = await its.refused(
      { op: "replace", collection: "services", entity: { ...users, retries: 1 }, etag: "0000000000000000" },
      createWrite("services", serviceEntity("fine")),
    );
    assert.deepEqual([lost.index, lost.fault.kind], [0, "changed"]);
  });

  test("plans without writing, and returns the same effects as the write", async (its) => {
    const [users, bob] = [
      await its.create("services", serviceEntity("users")),
      await its.create("consumers", consumerEntity("bob")),
    ];
    await its.create("keyauth_credentials", credentialEntity(bob, "mine"));
    const before = await its.everything();
    const [pair, pool] = [await certificateEntity(), upstreamEntity("pool.example")];
    const writes = [
      createWrite("certificates", pair),
      createWrite("snis", sniEntity(pair, "a.example")),
      createWrite("upstreams", pool),
      createWrite("targets", targetEntity(pool, "10.0.0.1:80")),
      replaceWrite("services", { ...users, retries: 1 }),
      removeWrite("consumers", bob.id),
    ];
    const planned = await its.write(writes, { plan: true });
    assert.deepEqual(await its.everything(), before);
    const written = await its.write(writes);
    assert.deepEqual(planned.map(entitiesOf), written.map(entitiesOf));
    const refused = await its.store.write([createWrite("services", serviceEntity("users"))], { plan: true });
    assert.equal(refused.fault?.kind, "primary-key");
  });

  test("accepts an empty list of writes", async (its) => {
    assert.deepEqual(await its.write([]), []);
  });
}
