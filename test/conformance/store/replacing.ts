/** Replacing entities, as PUT and PATCH do. */
import assert from "node:assert/strict";
import type { Collection, Entity } from "@sluice/model";
import { etagOf } from "../../../gateway/src/stores/etag.ts";
import type { WriteFault } from "../../../gateway/src/stores/store.ts";
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
import { replaceWrite, type StoreTest } from "./suite.ts";

const unknown = "11111111-1111-4111-8111-111111111111";

export function testReplacing(test: StoreTest): void {
  test("replaces entities of nine collections completely", async (its) => {
    const users = await its.create("services", serviceEntity("users", { path: "/a", tags: ["a"], retries: 1 }));
    const web = await its.create(
      "routes",
      routeEntity({ name: "web", service: { id: users.id }, hosts: ["a.example"] }),
    );
    const bob = await its.create("consumers", consumerEntity("bob", { custom_id: "42", tags: ["a"] }));
    const key = await its.create("keyauth_credentials", credentialEntity(bob, "secret", { tags: ["a"], ttl: 1000 }));
    const limit = await its.create(
      "plugins",
      pluginEntity("rate-limiting", { config: { minute: 5, redis: { host: "redis" } }, service: { id: users.id } }),
    );
    const pair = await its.create("certificates", await certificateEntity(0, { tags: ["a"] }));
    const name = await its.create("snis", sniEntity(pair, "a.example", { tags: ["a"] }));
    const pool = await its.create("upstreams", upstreamEntity("pool.example", { slots: 20, tags: ["a"] }));
    const first = await its.create("targets", targetEntity(pool, "10.0.0.1:80", { weight: 1, tags: ["a"] }));
    const table: readonly (readonly [Collection, Entity])[] = [
      ["services", serviceEntity("users", { id: users.id, connect_timeout: 5 })],
      ["routes", routeEntity({ id: web.id, name: "web", methods: ["GET"], paths: null })],
      ["consumers", consumerEntity("bob", { id: bob.id, tags: ["b"] })],
      ["keyauth_credentials", credentialEntity(bob, "secret", { id: key.id })],
      ["plugins", pluginEntity("rate-limiting", { id: limit.id, config: { hour: 9 }, consumer: { id: bob.id } })],
      ["certificates", await certificateEntity(1, { id: pair.id })],
      ["snis", sniEntity(pair, "a.example", { id: name.id, tags: ["b"] })],
      ["upstreams", upstreamEntity("pool.example", { id: pool.id, algorithm: "least-connections" })],
      ["targets", targetEntity(pool, "10.0.0.1:80", { id: first.id, weight: 50 })],
    ];
    for (const [collection, made] of table) {
      const before = await its.store.find(collection, { id: made.id });
      const [effect] = await its.write([replaceWrite(collection, made)]);
      assert.deepEqual(effect?.before, before, collection);
      assert.deepEqual(withoutTimestamps(effect?.after), withoutTimestamps(made), collection);
      assert.deepEqual(await its.store.find(collection, { id: made.id }), effect?.after, collection);
    }
  });

  test("keeps id, creation time and references when an entity is renamed", async (its) => {
    const users = await its.create("services", serviceEntity("users"));
    const web = await its.create("routes", routeEntity({ service: { id: users.id } }));
    const renamed = await its.replace("services", { ...users, name: "people" });
    assert.deepEqual([renamed.id, renamed.created_at, renamed.name], [users.id, users.created_at, "people"]);
    assert.equal(await its.store.find("services", { member: "name", value: "users" }), null);
    assert.equal((await its.store.find("services", { member: "name", value: "people" }))?.id, users.id);
    assert.deepEqual((await its.store.find("routes", { id: web.id }))?.service, { id: users.id });
    // The old name is free again in every store.
    const fresh = await its.create("services", serviceEntity("users", { id: unknown }));
    assert.notEqual(fresh.id, users.id);
    const bob = await its.create("consumers", consumerEntity("bob"));
    const key = await its.create("keyauth_credentials", credentialEntity(bob, "secret"));
    await its.replace("consumers", { ...bob, username: "robert" });
    assert.deepEqual((await its.store.find("keyauth_credentials", { id: key.id }))?.consumer, { id: bob.id });
  });

  test("changes a key, and the old key is no longer found", async (its) => {
    const bob = await its.create("consumers", consumerEntity("bob"));
    const key = await its.create("keyauth_credentials", credentialEntity(bob, "old"));
    const other = await its.create("keyauth_credentials", credentialEntity(bob, "other"));
    await its.replace("keyauth_credentials", { ...key, key: "new" });
    assert.equal(await its.store.find("keyauth_credentials", { member: "key", value: "old" }), null);
    assert.equal((await its.store.find("keyauth_credentials", { member: "key", value: "new" }))?.id, key.id);
    assert.equal((await its.store.find("keyauth_credentials", { id: other.id }))?.key, "other");
    await its.create("keyauth_credentials", credentialEntity(bob, "old"));
  });

  test("moves a nested entity to another parent", async (its) => {
    const [bob, eve] = [
      await its.create("consumers", consumerEntity("bob")),
      await its.create("consumers", consumerEntity("eve")),
    ];
    const key = await its.create("keyauth_credentials", credentialEntity(bob, "secret"));
    const [one, two] = [
      await its.create("certificates", await certificateEntity(0)),
      await its.create("certificates", await certificateEntity(1)),
    ];
    const name = await its.create("snis", sniEntity(one, "a.example"));
    const [first, second] = [
      await its.create("upstreams", upstreamEntity("one.example")),
      await its.create("upstreams", upstreamEntity("two.example")),
    ];
    const address = await its.create("targets", targetEntity(first, "10.0.0.1:80"));
    const table = [
      ["keyauth_credentials", { ...key, consumer: { id: eve.id } }, "consumer", eve.id, bob.id],
      ["snis", { ...name, certificate: { id: two.id } }, "certificate", two.id, one.id],
      ["targets", { ...address, upstream: { id: second.id } }, "upstream", second.id, first.id],
    ] as const;
    for (const [collection, made, member, now, before] of table) {
      await its.write([replaceWrite(collection, made)]);
      const listed = async (id: string) =>
        (await its.store.list(collection, { size: 9, where: { member, id } })).entities.map((found) => found.id);
      assert.deepEqual([await listed(now), await listed(before)], [[made.id], []], collection);
    }
  });

  test("refuses a replacement with another entity's name or with a reference to a missing entity", async (its) => {
    const users = await its.create("services", serviceEntity("users"));
    await its.create("services", serviceEntity("other"));
    const web = await its.create("routes", routeEntity({ service: { id: users.id } }));
    const table: readonly (readonly [Collection, Entity, WriteFault])[] = [
      ["services", { ...users, name: "other" }, { kind: "unique", members: { name: "other" } }],
      [
        "routes",
        { ...web, service: { id: unknown } },
        { kind: "foreign-key", member: "service", to: "services", id: unknown },
      ],
    ];
    for (const [collection, made, fault] of table)
      assert.deepEqual((await its.refused(replaceWrite(collection, made))).fault, fault);
  });

  test("replaces or removes an entity with an ETag only if the entity still has this ETag", async (its) => {
    const users = await its.create("services", serviceEntity("users"));
    const etag = etagOf(users);
    const next = { ...users, retries: 1 };
    const [effect] = await its.write([{ op: "replace", collection: "services", entity: next, etag }]);
    const after = effect?.after;
    assert.ok(after);
    assert.notEqual(etagOf(after), etag);
    const lost = await its.refused({ op: "replace", collection: "services", entity: { ...next, retries: 2 }, etag });
    assert.equal(lost.fault.kind, "changed");
    const kept = await its.refused({ op: "remove", collection: "services", by: { id: users.id }, etag });
    assert.equal(kept.fault.kind, "changed");
    await its.write([{ op: "remove", collection: "services", by: { id: users.id }, etag: etagOf(after) }]);
    const gone = await its.refused({ op: "replace", collection: "services", entity: next, etag: etagOf(after) });
    assert.equal(gone.fault.kind, "changed");
    assert.equal((await its.refused(replaceWrite("services", next))).fault.kind, "changed");
  });

  test("leaves an entity unchanged when it is replaced by itself", async (its) => {
    const users = await its.create("services", serviceEntity("users", { tags: ["a"] }));
    const limit = await its.create("plugins", pluginEntity("rate-limiting", { config: { minute: 1 } }));
    for (const [collection, one] of [
      ["services", users],
      ["plugins", limit],
    ] as const) {
      const again = await its.replace(collection, one as never);
      assert.deepEqual(withoutTimestamps(again), withoutTimestamps(one));
    }
  });
}
