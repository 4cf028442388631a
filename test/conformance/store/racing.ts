/** Two processes that write at the same time. */
import assert from "node:assert/strict";
import { etagOf } from "../../../gateway/src/stores/etag.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { consumerEntity, credentialEntity, routeEntity, serviceEntity } from "./entities.ts";
import { createWrite, removeWrite, type StoreTest } from "./suite.ts";

export function testRacing(test: StoreTest): void {
  test("lets exactly one of several writers create an entity with the same name", async (its) => {
    const other = await its.open();
    const stores = [its.store, other, its.store, other];
    const outcomes = await Promise.all(
      stores.map((one, index) =>
        one.write([
          createWrite("services", serviceEntity("users", index < 2 ? { path: `/${index}` } : { id: ids[index - 2] })),
        ]),
      ),
    );
    assert.equal(outcomes.filter(({ fault }) => fault === undefined).length, 1);
    for (const { fault } of outcomes)
      if (fault) assert.ok(["unique", "primary-key"].includes(fault.kind), JSON.stringify(fault));
    // A store may see the write of another store a little later.
    await waitFor(async () => (await its.all("services")).length > 0, { what: "the service to be found" });
    assert.equal((await its.all("services")).length, 1);
  });

  test("lets exactly one of several writers change the entity that they have read", async (its) => {
    const users = await its.create("services", serviceEntity("users"));
    const other = await its.open();
    await waitFor(() => other.find("services", { id: users.id }), { what: "the other store to find the service" });
    const etag = etagOf(users);
    const outcomes = await Promise.all(
      [its.store, other, its.store, other].map((one, index) =>
        one.write([{ op: "replace", collection: "services", entity: { ...users, retries: index }, etag }]),
      ),
    );
    const faults = outcomes.flatMap(({ fault }) => fault ?? []);
    assert.deepEqual(
      faults.map(({ kind }) => kind),
      ["changed", "changed", "changed"],
    );
  });

  test("refuses either the removal of a service or the concurrent creation of a route that refers to the service", async (its) => {
    const users = await its.create("services", serviceEntity("users"));
    const other = await its.open();
    await waitFor(() => other.find("services", { id: users.id }), { what: "the other store to find the service" });
    const [removed, made] = await Promise.all([
      its.store.write([removeWrite("services", users.id)]),
      other.write([createWrite("routes", routeEntity({ service: { id: users.id } }))]),
    ]);
    const faults = [removed, made].flatMap(({ fault }) => fault?.kind ?? []);
    assert.equal(faults.length, 1, JSON.stringify(faults));
    assert.ok(["referenced", "foreign-key"].includes(faults[0] ?? ""), JSON.stringify(faults));
  });

  test("loses no key when several keys are added concurrently", async (its) => {
    const bob = await its.create("consumers", consumerEntity("bob"));
    const other = await its.open();
    await waitFor(() => other.find("consumers", { id: bob.id }), { what: "the other store to find the consumer" });
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        (index % 2 ? its.store : other).write([
          createWrite("keyauth_credentials", credentialEntity(bob, `key-${index}`)),
        ]),
      ),
    );
    assert.deepEqual(
      outcomes.flatMap(({ fault }) => fault ?? []),
      [],
    );
    const third = await its.open();
    const seen = async () => (await third.list("keyauth_credentials", { size: 100 })).entities.length === 6;
    await waitFor(seen, { what: "all keys to be found" });
  });
}

const ids = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
