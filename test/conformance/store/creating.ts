/** Creating entities: stored members and rejected writes. */
import assert from "node:assert/strict";
import type { Collection, Entity } from "@sluice/model";
import type { WriteFault } from "../../../gateway/src/stores/store.ts";
import { firstKeyPair as one, secondKeyPair as two } from "../../../tools/programs/pairs.ts";
import {
  caCertificateEntity,
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
import { createWrite, isAnswer, removeWrite, type StoreTest } from "./suite.ts";

const unknown = "11111111-1111-4111-8111-111111111111";

export function testCreating(test: StoreTest): void {
  test("accepts a key or an id again when the credential that had it has expired", async (its) => {
    const [ann, bob] = [
      await its.create("consumers", consumerEntity("ann")),
      await its.create("consumers", consumerEntity("bob")),
    ];
    const hour = 3600;
    const over = { ttl: hour, created_at: Math.floor(Date.now() / 1000) - hour - 1 };
    const old = credentialEntity(ann, "secret", over);
    const other = credentialEntity(ann, "other", over);
    for (const one of [old, other]) await its.write([createWrite("keyauth_credentials", one)]);
    const mine = await its.create("keyauth_credentials", credentialEntity(ann, "secret"));
    const theirs = await its.create("keyauth_credentials", credentialEntity(bob, "other", { id: old.id }));
    const found = async (value: string) => (await its.store.find("keyauth_credentials", { member: "key", value }))?.id;
    assert.deepEqual([await found("secret"), await found("other")], [mine.id, theirs.id]);
    assert.deepEqual([...(await its.ids("keyauth_credentials"))].sort(), [mine.id, theirs.id].sort());
    const taken = await its.refused(createWrite("keyauth_credentials", credentialEntity(bob, "secret")));
    assert.equal(taken.fault.kind, "unique");
  });

  test("keeps arbitrary names, keys and ids", async (its) => {
    const id = "0123abcd-0000-4000-8000-00000000000f";
    const name = `é😀.~_-${"x".repeat(200)}`;
    assert.equal((await its.create("services", serviceEntity(name, { id }))).id, id);
    assert.equal((await its.store.find("services", { member: "name", value: name }))?.id, id);
    await its.create("services", serviceEntity(name.toUpperCase()));
    const bob = await its.create(
      "consumers",
      consumerEntity("__proto__", { tags: ["a: b # c", "'; DROP TABLE x; --"] }),
    );
    const key = `"'\\ \t${"k".repeat(200)}€`;
    await its.create("keyauth_credentials", credentialEntity(bob, key));
    assert.equal((await its.store.find("keyauth_credentials", { member: "key", value: key }))?.key, key);
    const found = await its.store.find("consumers", { member: "username", value: "__proto__" });
    assert.deepEqual([found?.id, found?.tags], [bob.id, ["a: b # c", "'; DROP TABLE x; --"]]);
  });

  test("keeps the creation time of an entity", async (its) => {
    const users = await its.create("services", serviceEntity("users", { created_at: 1_500_000_000 }));
    assert.equal(users.created_at, 1_500_000_000);
    assert.ok(users.updated_at >= users.created_at);
  });

  test("distinguishes many nameless entities", async (its) => {
    const users = await its.create("services", serviceEntity("users"));
    await its.create("services", serviceEntity("unnamed-1", { name: null, host: "a.example", id: unknown }));
    for (const path of ["/a", "/b"])
      await its.create("routes", routeEntity({ paths: [path], service: { id: users.id } }));
    await its.create("routes", routeEntity({ paths: ["/c"] }));
    assert.equal((await its.all("routes")).length, 3);
    assert.equal((await its.store.find("services", { id: unknown }))?.name, null);
  });

  test("refuses ids and unique values that another entity has, and writes nothing", async (its) => {
    const users = await its.create("services", serviceEntity("users"));
    const bob = await its.create("consumers", consumerEntity("bob", { custom_id: "42" }));
    const key = await its.create("keyauth_credentials", credentialEntity(bob, "secret"));
    await its.create("plugins", pluginEntity("cors", { service: { id: users.id } }));
    await its.create("plugins", pluginEntity("cors", { instance_name: "all" }));
    const pair = await its.create("certificates", await certificateEntity());
    const name = await its.create("snis", sniEntity(pair, "a.example"));
    const pool = await its.create("upstreams", upstreamEntity("pool.example"));
    const first = await its.create("targets", targetEntity(pool, "10.0.0.1:80"));
    const authority = await its.create("ca_certificates", caCertificateEntity(one.cert));
    const unique = (members: Record<string, unknown>): WriteFault => ({ kind: "unique", members });
    const taken = (id: string): WriteFault => ({ kind: "primary-key", id });
    const table: readonly (readonly [Collection, Entity, WriteFault])[] = [
      ["services", serviceEntity("users", { id: unknown }), unique({ name: "users" })],
      ["services", serviceEntity("other", { id: users.id }), taken(users.id)],
      ["consumers", consumerEntity("eve", { custom_id: "42" }), unique({ custom_id: "42" })],
      ["keyauth_credentials", credentialEntity(bob, "secret"), unique({ key: "secret" })],
      ["keyauth_credentials", credentialEntity(bob, "x", { id: key.id }), taken(key.id)],
      [
        "plugins",
        pluginEntity("cors", { service: { id: users.id }, config: { max_age: 5 } }),
        unique({ name: "cors", route: null, service: { id: users.id }, consumer: null, consumer_group: null }),
      ],
      ["plugins", pluginEntity("key-auth", { instance_name: "all" }), unique({ instance_name: "all" })],
      ["certificates", await certificateEntity(1, { id: pair.id }), taken(pair.id)],
      [
        "ca_certificates",
        caCertificateEntity(one.cert, { id: unknown }),
        unique({ cert_digest: authority.cert_digest }),
      ],
      ["ca_certificates", caCertificateEntity(two.cert, { id: authority.id }), taken(authority.id)],
      ["snis", sniEntity(pair, "a.example"), unique({ name: "a.example" })],
      ["snis", sniEntity(pair, "b.example", { id: name.id }), taken(name.id)],
      ["upstreams", upstreamEntity("pool.example"), unique({ name: "pool.example" })],
      ["targets", targetEntity(pool, "10.0.0.1:80"), unique({ upstream: { id: pool.id }, target: "10.0.0.1:80" })],
      ["targets", targetEntity(pool, "10.0.0.2:80", { id: first.id }), taken(first.id)],
    ];
    for (const [collection, made, fault] of table)
      assert.deepEqual((await its.refused(createWrite(collection, made))).fault, fault);
  });

  test("keeps the CA certificates of services, in their order", async (its) => {
    const cas = [one.cert, two.cert].map((cert) => caCertificateEntity(cert, { tags: ["ca"] }));
    for (const ca of cas) await its.create("ca_certificates", ca);
    const ids = cas.map(({ id }) => id).toReversed();
    const users = await its.create("services", serviceEntity("users", { protocol: "https", ca_certificates: ids }));
    assert.deepEqual(users.ca_certificates, ids);
    assert.deepEqual((await its.store.find("services", { id: users.id }))?.ca_certificates, ids);
    const found = await its.store.find("ca_certificates", { id: ids[0] ?? "" });
    assert.deepEqual([found?.cert, found?.tags], [two.cert, ["ca"]]);
  });

  test("refuses references to missing entities", async (its) => {
    const nowhere = { id: unknown };
    const tls = { protocol: "https", client_certificate: nowhere };
    const table: readonly (readonly [Collection, Entity, string, Collection])[] = [
      ["routes", routeEntity({ service: nowhere }), "service", "services"],
      ["plugins", pluginEntity("cors", { route: nowhere }), "route", "routes"],
      ["plugins", pluginEntity("cors", { service: nowhere }), "service", "services"],
      ["plugins", pluginEntity("rate-limiting", { config: { day: 1 }, consumer: nowhere }), "consumer", "consumers"],
      ["keyauth_credentials", credentialEntity(nowhere, "k"), "consumer", "consumers"],
      ["snis", sniEntity(nowhere, "a.example"), "certificate", "certificates"],
      ["targets", targetEntity(nowhere, "10.0.0.1:80"), "upstream", "upstreams"],
      ["services", serviceEntity("users", tls), "client_certificate", "certificates"],
      ["upstreams", upstreamEntity("users", { client_certificate: nowhere }), "client_certificate", "certificates"],
    ];
    for (const [collection, made, member, to] of table) {
      const fault: WriteFault = { kind: "foreign-key", member, to, id: unknown };
      assert.deepEqual((await its.refused(createWrite(collection, made))).fault, fault);
    }
  });

  test("returns a function that waits for the nodes after a write, and none if no entity was written", async (its) => {
    const users = serviceEntity("users");
    const written = await its.store.write([createWrite("services", users)]);
    assert.ok(written.programmed, "the write has a function to wait for the nodes");
    assert.ok(isAnswer(await written.programmed(20)));
    const removed = await its.store.write([removeWrite("services", users.id)]);
    assert.ok(removed.programmed && isAnswer(await removed.programmed(20)));
    assert.equal((await its.store.write([removeWrite("services", users.id)])).programmed, undefined);
    assert.equal((await its.store.write([createWrite("services", users)], { plan: true })).programmed, undefined);
  });
}
