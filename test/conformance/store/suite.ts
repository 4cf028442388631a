/** What every store does alike. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { Collection, Entities } from "@sluice/model";
import type { Outcome, Store, WriteFault } from "../../../gateway/src/stores/store.ts";
import { waitFor } from "../../process/index.ts";
import { consumer, credential, plugin, route, service } from "./entities.ts";

export interface StoreHolder {
  /** A new store over the same entities: two of them are as two processes. */
  open(): Store;
  /** Ends all that were opened, and forgets the entities. */
  close(): Promise<void>;
}

export function describeStore(name: string, hold: () => Promise<StoreHolder>): void {
  describe(`${name} as a store`, () => {
    let holder: StoreHolder;
    let store: Store;

    beforeEach(async () => {
      holder = await hold();
      store = holder.open();
    });
    afterEach(() => holder.close());

    const faultOf = (outcome: Outcome<unknown>): WriteFault => {
      assert.ok(outcome.fault, "the write should have been refused");
      return outcome.fault;
    };
    const put = async <Name extends Collection>(collection: Name, made: Entities[Name]): Promise<Entities[Name]> => {
      const { value, fault } = await store.create(collection, made);
      assert.deepEqual(fault, undefined);
      return value as Entities[Name];
    };
    const all = async (collection: Collection) => (await store.list(collection, { size: 1000 })).entities;
    const ids = async (collection: Collection) => (await all(collection)).map(({ id }) => id);
    const remove = async (collection: Collection, id: string) => {
      const { value, fault } = await store.remove(collection, { id });
      assert.deepEqual(fault, undefined);
      return value;
    };

    test("shows what was created at once, by id and by each unique member, with every member", async () => {
      const users = await put("services", service("users", { tags: ["a b"], read_timeout: 5 }));
      const web = await put("routes", route({ name: "web", service: { id: users.id }, headers: { "x-a": ["1"] } }));
      const made = await put("consumers", consumer("bob", { custom_id: "42" }));
      const key = await put("keyauth_credentials", credential(made, "secret", { tags: ["t"], ttl: 1000 }));
      // A key stands in its consumer's resource: adding one may count as a change of the consumer.
      const bob = await store.find("consumers", { id: made.id });
      assert.deepEqual({ ...bob, updated_at: made.updated_at }, made);
      const limit = await put(
        "plugins",
        plugin("rate-limiting", { instance_name: "limit", config: { minute: 5 }, service: { id: users.id } }),
      );
      const lookups = [
        ["services", users, { name: "users" }],
        ["routes", web, { name: "web" }],
        ["consumers", bob ?? made, { username: "bob", custom_id: "42" }],
        ["keyauth_credentials", key, { key: "secret" }],
        ["plugins", limit, { instance_name: "limit" }],
      ] as const;
      for (const [collection, made, members] of lookups) {
        assert.deepEqual(await store.find(collection, { id: made.id }), made);
        for (const [member, value] of Object.entries(members))
          assert.deepEqual(await store.find(collection, { member, value }), made, member);
        assert.deepEqual(await all(collection), [made]);
      }
      assert.equal(users.read_timeout, 5);
      assert.equal(users.connect_timeout, 60_000);
      assert.deepEqual(limit.config.redis, { ...Object(limit.config.redis), port: 6379, password: null });
    });

    test("gives null for what is not there", async () => {
      await put("services", service("users"));
      for (const name of ["", "Users", "__proto__", "constructor"])
        assert.equal(await store.find("services", { member: "name", value: name }), null, name);
      assert.equal(await store.find("services", { id: "11111111-1111-4111-8111-111111111111" }), null);
    });

    test("keeps arbitrary names, keys and ids", async () => {
      const id = "0123abcd-0000-4000-8000-00000000000f";
      const name = `é😀.~_-${"x".repeat(200)}`;
      assert.equal((await put("services", service(name, { id }))).id, id);
      assert.equal((await store.find("services", { member: "name", value: name }))?.id, id);
      await put("services", service(name.toUpperCase()));
      const bob = await put("consumers", consumer("__proto__", { tags: ["a: b # c"] }));
      const key = `"'\\ \t${"k".repeat(200)}€`;
      await put("keyauth_credentials", credential(bob, key));
      assert.equal((await store.find("keyauth_credentials", { member: "key", value: key }))?.key, key);
      assert.equal((await store.find("consumers", { member: "username", value: "__proto__" }))?.id, bob.id);
    });

    test("lists in the order of ids, a page at a time, and only those that refer to something", async () => {
      const [one, two] = [await put("services", service("one")), await put("services", service("two"))];
      const routes = [];
      for (let count = 0; count < 5; count++)
        routes.push(await put("routes", route({ paths: [`/${count}`], service: { id: one.id } })));
      await put("routes", route({ paths: ["/other"], service: { id: two.id } }));
      const expected = routes.map(({ id }) => id).sort();
      const where = { member: "service", id: one.id };
      const seen: string[] = [];
      for (let after: string | undefined, more = true; more; after = seen.at(-1)) {
        const page = await store.list("routes", { size: 2, where, ...(after && { after }) });
        assert.ok(page.entities.length <= 2);
        seen.push(...page.entities.map(({ id }) => id));
        more = page.more;
      }
      assert.deepEqual(seen, expected);
      assert.equal((await store.list("routes", { size: 1000 })).entities.length, 6);
    });

    test("refuses what another entity has already, and writes nothing", async () => {
      const users = await put("services", service("users"));
      const bob = await put("consumers", consumer("bob", { custom_id: "42" }));
      const key = await put("keyauth_credentials", credential(bob, "secret"));
      await put("plugins", plugin("cors", { service: { id: users.id } }));
      await put("plugins", plugin("cors", { instance_name: "all" }));
      const unique = (members: object) => ({ kind: "unique", members });
      const table: readonly (readonly [Collection, Entities[Collection], object])[] = [
        ["services", service("users", { id: "11111111-1111-4111-8111-111111111111" }), unique({ name: "users" })],
        ["services", service("other", { id: users.id }), { kind: "primary-key", id: users.id }],
        ["consumers", consumer("eve", { custom_id: "42" }), unique({ custom_id: "42" })],
        ["keyauth_credentials", credential(bob, "secret"), unique({ key: "secret" })],
        ["keyauth_credentials", credential(bob, "x", { id: key.id }), { kind: "primary-key", id: key.id }],
        [
          "plugins",
          plugin("cors", { service: { id: users.id }, config: { max_age: 5 } }),
          unique({ name: "cors", route: null, service: { id: users.id }, consumer: null }),
        ],
        ["plugins", plugin("key-auth", { instance_name: "all" }), unique({ instance_name: "all" })],
      ];
      for (const [collection, made, fault] of table) {
        const before = await all(collection);
        assert.deepEqual(faultOf(await store.create(collection, made as never)), fault);
        assert.deepEqual(await all(collection), before);
      }
    });

    test("refuses references to what is not there", async () => {
      const id = "11111111-1111-4111-8111-111111111111";
      const table: readonly (readonly [Collection, Entities[Collection], string, string])[] = [
        ["routes", route({ service: { id } }), "service", "services"],
        ["plugins", plugin("cors", { route: { id } }), "route", "routes"],
        ["plugins", plugin("rate-limiting", { config: { day: 1 }, consumer: { id } }), "consumer", "consumers"],
        ["keyauth_credentials", credential({ id }, "k"), "consumer", "consumers"],
      ];
      for (const [collection, made, member, to] of table) {
        assert.deepEqual(faultOf(await store.create(collection, made as never)), {
          kind: "foreign-key",
          member,
          to,
          id,
        });
        assert.deepEqual(await ids(collection), []);
      }
    });

    test("removes what depends on an entity with it, and nothing else", async () => {
      const users = await put("services", service("users"));
      const web = await put("routes", route({ service: { id: users.id } }));
      const bob = await put("consumers", consumer("bob"));
      const eve = await put("consumers", consumer("eve"));
      await put("keyauth_credentials", credential(bob, "one"));
      await put("keyauth_credentials", credential(bob, "two"));
      const hers = await put("keyauth_credentials", credential(eve, "three"));
      await put("plugins", plugin("cors", { route: { id: web.id } }));
      const scope = { service: { id: users.id }, consumer: { id: bob.id } };
      await put("plugins", plugin("rate-limiting", { config: { minute: 1 }, ...scope }));
      const stays = await put("plugins", plugin("prometheus"));

      assert.deepEqual(faultOf(await store.remove("services", { id: users.id })), {
        kind: "referenced",
        by: "routes",
        collection: "services",
      });
      assert.equal((await all("plugins")).length, 3);
      assert.equal(await remove("routes", web.id), true);
      assert.equal((await all("plugins")).length, 2);
      assert.equal(await remove("consumers", bob.id), true);
      assert.deepEqual(await ids("keyauth_credentials"), [hers.id]);
      assert.deepEqual(await ids("plugins"), [stays.id]);
      assert.equal(await remove("services", users.id), true);
      assert.equal(await remove("services", users.id), false);
      assert.deepEqual([await ids("services"), await ids("routes")], [[], []]);
      // What is gone can be made again.
      await put("services", service("users"));
      await put("keyauth_credentials", credential(await put("consumers", consumer("bob")), "one"));
    });

    test("removes one key and leaves the consumer's others", async () => {
      const bob = await put("consumers", consumer("bob"));
      const keys = [];
      for (const key of ["a", "b", "c"]) keys.push(await put("keyauth_credentials", credential(bob, key)));
      const [first, middle, last] = keys.map(({ id }) => id);
      assert.equal(await remove("keyauth_credentials", middle ?? ""), true);
      assert.deepEqual(await ids("keyauth_credentials"), [first, last].sort());
      assert.equal(await remove("keyauth_credentials", first ?? ""), true);
      assert.equal(await remove("keyauth_credentials", last ?? ""), true);
      assert.deepEqual(await ids("keyauth_credentials"), []);
      assert.deepEqual(await ids("consumers"), [bob.id]);
    });

    test("tells what each write left behind", async () => {
      const told = async (outcome: Promise<Outcome<unknown>>) => (await outcome).awaits ?? [];
      const kinds = (written: Awaited<ReturnType<typeof told>>) =>
        written.map(({ kind, deleted }) => `${deleted ? "no " : ""}${kind}`).join(", ");
      const users = service("users");
      const bob = consumer("bob");
      const key = credential(bob, "secret");
      const [made] = await told(store.create("services", users));
      assert.equal(made?.kind, "Service");
      assert.match(made?.uid ?? "", /^[0-9a-f-]{36}$/);
      assert.equal(typeof made?.generation, "number");
      assert.equal(kinds(await told(store.create("consumers", bob))), "Consumer");
      const [secret] = await told(store.create("keyauth_credentials", key));
      assert.equal(secret?.kind, "Secret");
      assert.ok(secret?.resourceVersion);
      await put("plugins", plugin("cors", { service: { id: users.id } }));
      assert.equal(kinds(await told(store.remove("services", { id: users.id }))), "no Plugin, no Service");
      assert.equal(kinds(await told(store.remove("keyauth_credentials", { id: key.id }))), "Consumer, no Secret");
      assert.deepEqual(await told(store.remove("services", { id: users.id })), []);
    });

    test("hides a key whose time is over", async () => {
      const bob = await put("consumers", consumer("bob"));
      const hour = 3600;
      const old = credential(bob, "old", { ttl: hour, created_at: Math.floor(Date.now() / 1000) - hour });
      await put("keyauth_credentials", old);
      const young = await put("keyauth_credentials", credential(bob, "young", { ttl: hour }));
      assert.deepEqual(await ids("keyauth_credentials"), [young.id]);
      assert.equal(await store.find("keyauth_credentials", { id: old.id }), null);
    });

    test("lets exactly one of several writers have a name", async () => {
      const other = holder.open();
      const stores = [store, other, store, other];
      const made = await Promise.all(
        stores.map((one, index) => one.create("services", service("users", { path: `/${index}` }))),
      );
      assert.equal(made.filter(({ fault }) => fault === undefined).length, 1);
      for (const { fault } of made)
        if (fault) assert.ok(["unique", "primary-key"].includes(fault.kind), JSON.stringify(fault));
      // The other store's writes come by the watch.
      await waitFor(async () => (await all("services")).length > 0, { what: "the service to be seen" });
      assert.equal((await all("services")).length, 1);
    });

    test("loses no key when several are added at once", async () => {
      const bob = await put("consumers", consumer("bob"));
      const other = holder.open();
      await waitFor(() => other.find("consumers", { id: bob.id }), { what: "the consumer to be seen by the other" });
      const outcomes = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          (index % 2 ? store : other).create("keyauth_credentials", credential(bob, `key-${index}`)),
        ),
      );
      assert.deepEqual(
        outcomes.flatMap(({ fault }) => fault ?? []),
        [],
      );
      const third = holder.open();
      assert.equal((await third.list("keyauth_credentials", { size: 100 })).entities.length, 6);
    });
  });
}
