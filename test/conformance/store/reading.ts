/** Finding and listing entities. */
import assert from "node:assert/strict";
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
import type { StoreTest } from "./suite.ts";

export function testReading(test: StoreTest): void {
  test("shows a created entity at once, by id and by each unique member, with all of its members", async (its) => {
    const users = await its.create("services", serviceEntity("users", { tags: ["a b"], read_timeout: 5 }));
    const web = await its.create(
      "routes",
      routeEntity({ name: "web", service: { id: users.id }, headers: { "x-a": ["1"] }, regex_priority: 7 }),
    );
    const made = await its.create("consumers", consumerEntity("bob", { custom_id: "42" }));
    const key = await its.create("keyauth_credentials", credentialEntity(made, "secret", { tags: ["t"], ttl: 1000 }));
    // A key may be stored in its consumer's resource: adding a key may count as a change of the consumer.
    const bob = await its.store.find("consumers", { id: made.id });
    assert.deepEqual(withoutTimestamps(bob), withoutTimestamps(made));
    const limit = await its.create(
      "plugins",
      pluginEntity("rate-limiting", { instance_name: "limit", config: { minute: 5 }, service: { id: users.id } }),
    );
    const lookups = [
      ["services", users, { name: "users" }],
      ["routes", web, { name: "web" }],
      ["consumers", bob ?? made, { username: "bob", custom_id: "42" }],
      ["keyauth_credentials", key, { key: "secret" }],
      ["plugins", limit, { instance_name: "limit" }],
    ] as const;
    for (const [collection, one, members] of lookups) {
      assert.deepEqual(await its.store.find(collection, { id: one.id }), one);
      for (const [member, value] of Object.entries(members))
        assert.deepEqual(await its.store.find(collection, { member, value }), one, member);
      assert.deepEqual(await its.all(collection), [one]);
    }
    assert.equal(users.read_timeout, 5);
    assert.equal(users.connect_timeout, 60_000);
    assert.deepEqual(limit.config.redis, { ...Object(limit.config.redis), port: 6379, password: null });
  });

  test("shows upstreams with targets and certificates with SNIs, with all of their members", async (its) => {
    const pair = await its.create("certificates", await certificateEntity(0, { tags: ["tls"] }));
    const name = await its.create("snis", sniEntity(pair, "*.example.com", { tags: ["wild"] }));
    const users = await its.create(
      "upstreams",
      upstreamEntity("users.example", {
        algorithm: "consistent-hashing",
        hash_on: "header",
        hash_on_header: "x-user",
        slots: 100,
        tags: ["u"],
        client_certificate: { id: pair.id },
        healthchecks: { passive: { unhealthy: { http_failures: 3 } }, active: { http_path: "/live" } },
      }),
    );
    const one = await its.create("targets", targetEntity(users, "10.0.0.1:80", { weight: 7, tags: ["t"] }));
    const two = await its.create("targets", targetEntity(users, "users.internal:8000", { weight: 0 }));
    assert.deepEqual(withoutTimestamps(await its.store.find("upstreams", { member: "name", value: "users.example" })), {
      ...withoutTimestamps(users),
    });
    assert.equal(Object(users.healthchecks.active).http_path, "/live");
    assert.equal(users.slots, 100);
    assert.deepEqual(users.client_certificate, { id: pair.id });
    const found = await its.store.find("certificates", { id: pair.id });
    assert.deepEqual([found?.cert, found?.key, found?.tags], [pair.cert, pair.key, ["tls"]]);
    assert.deepEqual(
      withoutTimestamps(await its.store.find("snis", { member: "name", value: "*.example.com" })),
      withoutTimestamps(name),
    );
    assert.deepEqual([name.certificate, name.tags], [{ id: pair.id }, ["wild"]]);
    const within = { member: "upstream", id: users.id };
    const byName = await its.store.find("targets", { member: "target", value: "10.0.0.1:80", within });
    assert.deepEqual(
      [byName?.id, byName?.weight, byName?.tags, byName?.upstream],
      [one.id, 7, ["t"], { id: users.id }],
    );
    const { entities } = await its.store.list("targets", { size: 9, where: within });
    assert.deepEqual(
      entities.map(({ id, weight }) => [id, weight]),
      [
        [one.id, 7],
        [two.id, 0],
      ].sort(),
    );
  });

  test("finds targets by their address only within their upstream", async (its) => {
    const [one, two] = [
      await its.create("upstreams", upstreamEntity("one.example")),
      await its.create("upstreams", upstreamEntity("two.example")),
    ];
    const [mine, theirs] = [
      await its.create("targets", targetEntity(one, "10.0.0.1:80")),
      await its.create("targets", targetEntity(two, "10.0.0.1:80")),
    ];
    const find = async (id: string, value: string) =>
      (await its.store.find("targets", { member: "target", value, within: { member: "upstream", id } }))?.id;
    assert.equal(await find(one.id, "10.0.0.1:80"), mine.id);
    assert.equal(await find(two.id, "10.0.0.1:80"), theirs.id);
    assert.equal(await find(two.id, "10.0.0.2:80"), undefined);
  });

  test("returns null for a missing entity", async (its) => {
    await its.create("services", serviceEntity("users"));
    for (const value of ["", "Users", "__proto__", "constructor", "' OR 1=1 --", "\u0000"])
      assert.equal(await its.store.find("services", { member: "name", value }), null, value);
    assert.equal(await its.store.find("services", { id: "11111111-1111-4111-8111-111111111111" }), null);
  });

  test("lists entities in the order of their ids, in pages, and on request only entities that refer to a given entity", async (its) => {
    const [one, two] = [
      await its.create("services", serviceEntity("one")),
      await its.create("services", serviceEntity("two")),
    ];
    const routes = [];
    for (let count = 0; count < 5; count++)
      routes.push(await its.create("routes", routeEntity({ paths: [`/${count}`], service: { id: one.id } })));
    await its.create("routes", routeEntity({ paths: ["/other"], service: { id: two.id } }));
    const expected = routes.map(({ id }) => id).sort();
    const where = { member: "service", id: one.id };
    const seen: string[] = [];
    for (let after: string | undefined, more = true; more; after = seen.at(-1)) {
      const page = await its.store.list("routes", { size: 2, where, ...(after && { after }) });
      assert.ok(page.entities.length <= 2);
      seen.push(...page.entities.map(({ id }) => id));
      more = page.more;
    }
    assert.deepEqual(seen, expected);
    assert.equal((await its.all("routes")).length, 6);
    const nowhere = { member: "service", id: "11111111-1111-4111-8111-111111111111" };
    assert.deepEqual(await its.store.list("routes", { size: 9, where: nowhere }), { entities: [], more: false });
  });

  test("lists the entities that have all of the given tags, or at least one of the given tags, in pages", async (its) => {
    const made = [
      await its.create("services", serviceEntity("a", { tags: ["x", "y z"] })),
      await its.create("services", serviceEntity("b", { tags: ["y z"] })),
      await its.create("services", serviceEntity("c")),
      await its.create("services", serviceEntity("d", { tags: ["x"] })),
    ];
    const ids = (...names: readonly string[]) =>
      made.flatMap(({ name, id }) => (names.includes(name ?? "") ? [id] : [])).sort();
    const listed = async (match: "every" | "some", ...tags: readonly string[]) =>
      (await its.store.list("services", { size: 9, tags: { tags, match } })).entities.map(({ id }) => id);
    assert.deepEqual(await listed("every", "x", "y z"), ids("a"));
    assert.deepEqual(await listed("every", "x"), ids("a", "d"));
    assert.deepEqual(await listed("some", "x", "y z"), ids("a", "b", "d"));
    assert.deepEqual(await listed("some", "z", "%", "X"), []);
    const [first = "", ...rest] = ids("a", "d");
    const tags = { tags: ["x"], match: "some" } as const;
    const page = await its.store.list("services", { size: 1, tags });
    assert.deepEqual([page.entities.map(({ id }) => id), page.more], [[first], true]);
    const last = await its.store.list("services", { size: 1, tags, after: first });
    assert.deepEqual([last.entities.map(({ id }) => id), last.more], [rest, false]);
  });

  test("hides an expired key", async (its) => {
    const bob = await its.create("consumers", consumerEntity("bob"));
    const hour = 3600;
    const old = credentialEntity(bob, "old", { ttl: hour, created_at: Math.floor(Date.now() / 1000) - hour - 1 });
    await its.write([{ op: "create", collection: "keyauth_credentials", entity: old }]);
    const young = await its.create("keyauth_credentials", credentialEntity(bob, "young", { ttl: hour }));
    assert.deepEqual(await its.ids("keyauth_credentials"), [young.id]);
    assert.equal(await its.store.find("keyauth_credentials", { id: old.id }), null);
  });
}
