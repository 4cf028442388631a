/** Removing entities, and the entities that are removed with them. */
import assert from "node:assert/strict";
import type { Collection, Entity } from "@sluice/model";
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
} from "./entities.ts";
import { removeWrite, type StoreTest } from "./suite.ts";

export function testRemoving(test: StoreTest): void {
  test("removes an entity with its dependents, and no other entity", async (its) => {
    const users = await its.create("services", serviceEntity("users"));
    const web = await its.create("routes", routeEntity({ service: { id: users.id } }));
    const bob = await its.create("consumers", consumerEntity("bob"));
    const eve = await its.create("consumers", consumerEntity("eve"));
    await its.create("keyauth_credentials", credentialEntity(bob, "one"));
    await its.create("keyauth_credentials", credentialEntity(bob, "two"));
    const hers = await its.create("keyauth_credentials", credentialEntity(eve, "three"));
    const ofWeb = await its.create("plugins", pluginEntity("cors", { route: { id: web.id } }));
    const scope = { service: { id: users.id }, consumer: { id: bob.id } };
    await its.create("plugins", pluginEntity("rate-limiting", { config: { minute: 1 }, ...scope }));
    const stays = await its.create("plugins", pluginEntity("prometheus"));

    const along = async (collection: Collection, id: string) =>
      (await its.remove(collection, id)).along.map((gone) => gone.collection).sort();
    const effect = await its.remove("routes", web.id);
    assert.deepEqual([effect.before?.id, effect.after], [web.id, null]);
    assert.deepEqual(effect.along, [{ collection: "plugins", entity: ofWeb }]);
    assert.deepEqual(await along("consumers", bob.id), ["keyauth_credentials", "keyauth_credentials", "plugins"]);
    assert.deepEqual(await its.ids("keyauth_credentials"), [hers.id]);
    assert.deepEqual(await its.ids("plugins"), [stays.id]);
    assert.deepEqual(await along("services", users.id), []);
    assert.equal((await its.remove("services", users.id)).before, null);
    assert.deepEqual([await its.ids("services"), await its.ids("routes")], [[], []]);
    // A removed entity can be created again.
    await its.create("services", serviceEntity("users"));
    await its.create(
      "keyauth_credentials",
      credentialEntity(await its.create("consumers", consumerEntity("bob")), "one"),
    );
  });

  test("removes targets with their upstream and SNIs with their certificate", async (its) => {
    const pair = await its.create("certificates", await certificateEntity());
    const names = [
      await its.create("snis", sniEntity(pair, "a.example")),
      await its.create("snis", sniEntity(pair, "b.example")),
    ];
    const pool = await its.create("upstreams", upstreamEntity("pool.example"));
    const first = await its.create("targets", targetEntity(pool, "10.0.0.1:80"));
    const second = await its.create("targets", targetEntity(pool, "10.0.0.2:80"));
    assert.equal((await its.remove("targets", first.id)).before?.id, first.id);
    assert.deepEqual(await its.ids("targets"), [second.id]);
    const gone = async (collection: Collection, id: string) =>
      (await its.remove(collection, id)).along.map(({ entity }) => entity.id).sort();
    assert.deepEqual(await gone("upstreams", pool.id), [second.id]);
    assert.deepEqual(await gone("certificates", pair.id), names.map(({ id }) => id).sort());
    for (const collection of ["upstreams", "targets", "certificates", "snis"] as const)
      assert.deepEqual(await its.ids(collection), [], collection);
  });

  test("refuses to remove an entity that other entities refer to", async (its) => {
    const users = await its.create("services", serviceEntity("users"));
    await its.create("routes", routeEntity({ service: { id: users.id } }));
    const [one, two] = [
      await its.create("certificates", await certificateEntity(0)),
      await its.create("certificates", await certificateEntity(1)),
    ];
    const tls = { protocol: "https", client_certificate: { id: one.id } };
    await its.create("services", serviceEntity("tls", tls));
    await its.create("upstreams", upstreamEntity("tls.example", { client_certificate: { id: two.id } }));
    const table: readonly (readonly [Collection, Entity, Collection])[] = [
      ["services", users, "routes"],
      ["certificates", one, "services"],
      ["certificates", two, "upstreams"],
    ];
    for (const [collection, { id }, by] of table) {
      const fault: WriteFault = { kind: "referenced", by, collection };
      assert.deepEqual((await its.refused(removeWrite(collection, id))).fault, fault);
    }
  });

  test("removes an entity by a unique member, even if the member is unique only within a parent", async (its) => {
    const [one, two] = [
      await its.create("upstreams", upstreamEntity("one.example")),
      await its.create("upstreams", upstreamEntity("two.example")),
    ];
    for (const pool of [one, two]) await its.create("targets", targetEntity(pool, "10.0.0.1:80"));
    const by = { member: "target", value: "10.0.0.1:80", within: { member: "upstream", id: one.id } };
    await its.write([{ op: "remove", collection: "targets", by }]);
    assert.deepEqual(
      (await its.all("targets")).map((left) => left.upstream),
      [{ id: two.id }],
    );
    await its.write([{ op: "remove", collection: "upstreams", by: { member: "name", value: "two.example" } }]);
    assert.deepEqual(await its.ids("upstreams"), [one.id]);
  });

  test("removes one key and keeps the consumer's other keys", async (its) => {
    const bob = await its.create("consumers", consumerEntity("bob"));
    const keys = [];
    for (const key of ["a", "b", "c"]) keys.push(await its.create("keyauth_credentials", credentialEntity(bob, key)));
    const [first = "", middle = "", last = ""] = keys.map(({ id }) => id);
    await its.remove("keyauth_credentials", middle);
    assert.deepEqual(await its.ids("keyauth_credentials"), [first, last].sort());
    await its.remove("keyauth_credentials", first);
    await its.remove("keyauth_credentials", last);
    assert.deepEqual(await its.ids("keyauth_credentials"), []);
    assert.deepEqual(await its.ids("consumers"), [bob.id]);
  });
}
