/** Overlapping writes, in a simulated cluster with slow calls and watches. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Resource, ResourceRejected } from "@sluice/crds";
import { type Collection, checkEntity, collections, type Entities, type Entity } from "@sluice/model";
import fc from "fast-check";
import { randomCases } from "../../../../tools/stages/random-cases.ts";
import type { Write, WriteOutcome } from "../store.ts";
import { applyWrite, createTables, listFromTables, type Tables } from "../tables/index.ts";
import { createResourceStore, type ResourceStore } from "./index.ts";
import { createTestingCluster, type TestingClusterOptions } from "./testing-cluster.ts";

const now = 1_700_000_000;
const id = (kind: number, index: number) => `${kind}${index}000000-0000-4000-8000-000000000000`;

function entity<Name extends Collection>(collection: Name, raw: object): Entities[Name] {
  const checked = checkEntity(collection, raw, { now });
  if (checked.violations) throw new Error(JSON.stringify(checked.violations));
  return checked.value;
}

const service = (index: number, name: string, retries = 5) =>
  entity("services", { id: id(1, index), name, host: "users.example", retries });
const route = (index: number, name: string, of: number) =>
  entity("routes", { id: id(2, index), name, paths: ["/"], service: { id: id(1, of) } });
const consumer = (index: number, username: string) => entity("consumers", { id: id(3, index), username });
const credential = (index: number, key: string, of: number) =>
  entity("keyauth_credentials", { id: id(4, index), key, consumer: { id: id(3, of) } });

async function scene(options: Partial<TestingClusterOptions> & { readonly processes?: number } = {}) {
  const stop = new AbortController();
  const cluster = createTestingCluster({ delay: () => 2, ...options });
  const stores = Array.from({ length: options.processes ?? 1 }, () =>
    createResourceStore({
      client: cluster.client(),
      homeNamespace: "home",
      class: "sluice",
      log: { info() {}, warn() {}, error() {} },
      awaitNodes: async () => null,
      signal: stop.signal,
    }),
  );
  const [store] = stores;
  assert.ok(store);
  return { cluster, store, stores, stop: () => stop.abort() };
}

const create = (collection: Collection, one: Entity): Write => ({ op: "create", collection, entity: one });
const remove = (collection: Collection, of: string): Write => ({ op: "remove", collection, by: { id: of } });

test("independent writes are carried out concurrently, with one call each", async () => {
  const { cluster, store, stop } = await scene();
  const writes = Array.from({ length: 9 }, (_, index) => create("services", service(index, `s${index}`)));
  const outcomes = await Promise.all(writes.map((one) => store.write([one])));
  assert.deepEqual(
    outcomes.flatMap(({ fault }) => fault ?? []),
    [],
  );
  assert.equal(cluster.busiest(), 9);
  assert.equal(cluster.calls.filter((call) => call === "apply Service").length, 9);
  stop();
});

test("a write waits for the writes that it depends on, and uses their results", async () => {
  const refuse = { yes: false };
  const { store, stop } = await scene({
    before: ({ name }) => {
      if (refuse.yes && name.startsWith("first")) throw new ResourceRejected("no");
    },
  });
  const both = () =>
    Promise.all([
      store.write([create("services", service(1, "first"))]),
      store.write([create("routes", route(1, "web", 1))]),
      store.write([create("services", service(2, "first"))]),
    ]);
  refuse.yes = true;
  assert.deepEqual(
    (await both()).map(({ fault }) => fault?.kind),
    ["invalid", "foreign-key", "invalid"],
  );
  refuse.yes = false;
  assert.deepEqual(
    (await both()).map(({ fault }) => fault?.kind),
    [undefined, "foreign-key", "unique"],
  );
  stop();
});

/** The content of tables without timestamps. */
const contentOf = (tables: Tables) =>
  Object.fromEntries(
    collections.map((collection) => [
      collection,
      listFromTables(tables, collection, { size: 100, now: 0 }).entities.map((one) =>
        JSON.stringify({ ...one, created_at: 0, updated_at: 0 }),
      ),
    ]),
  );

async function tablesOf(store: ResourceStore): Promise<Tables> {
  const all = collections.map(async (collection) =>
    (await store.list(collection, { size: 100 })).entities.map((one) => ({ collection, entity: one as Entity })),
  );
  return createTables((await Promise.all(all)).flat());
}

const few = fc.nat({ max: 2 });
const name = fc.constantFrom("a", "b");
const one: fc.Arbitrary<Write> = fc.oneof(
  fc.tuple(few, name).map(([index, word]) => create("services", service(index, word))),
  fc
    .tuple(few, name)
    .map(([index, word]): Write => ({ op: "replace", collection: "services", entity: service(index, word, 7) })),
  fc.tuple(few, name, few).map(([index, word, of]) => create("routes", route(index, word, of))),
  fc.tuple(few, name).map(([index, word]) => create("consumers", consumer(index, word))),
  fc.tuple(few, name, few).map(([index, word, of]) => create("keyauth_credentials", credential(index, word, of))),
  fc
    .tuple(fc.constantFrom("services" as const, "consumers" as const), few)
    .map(([of, index]) => remove(of, id(of === "services" ? 1 : 3, index))),
  fc
    .tuple(fc.constantFrom("routes" as const, "keyauth_credentials" as const), few)
    .map(([of, index]) => remove(of, id(of === "routes" ? 2 : 4, index))),
);

/**
 * Whether the accepted writes lead from these tables to the wanted content in some order in which each of them is
 * accepted.
 */
function isReachable(taken: readonly (readonly Write[])[], from: Tables, wanted: string): boolean {
  if (taken.length === 0) return JSON.stringify(contentOf(from)) === wanted;
  return taken.some((writes, index) => {
    const after = applyWrite(from, writes);
    return !after.fault && isReachable(taken.toSpliced(index, 1), after.tables, wanted);
  });
}

test("if each of two writes removes an entity that the other creates, one of them finds the entity that it removes", async () => {
  const { store, stop } = await scene();
  const asked = [
    [remove("consumers", id(3, 1)), create("services", service(2, "a"))],
    [create("consumers", consumer(1, "a")), remove("services", id(1, 2))],
  ];
  const outcomes = await Promise.all(asked.map((writes) => store.write(writes)));
  assert.deepEqual(
    outcomes.flatMap(({ fault }) => fault ?? []),
    [],
  );
  const tables = await tablesOf(store);
  assert.ok(isReachable(asked, createTables([]), JSON.stringify(contentOf(tables))), "neither write removed an entity");
  stop();
});

test("concurrent writes have the result of some sequential order, and no name is assigned twice", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(one, { minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 7 }),
      fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 9 }),
      fc.integer({ min: 1, max: 2 }),
      async (asked, delays, processes) => {
        let calls = 0;
        const { stores, cluster, stop } = await scene({ processes, delay: () => delays[calls++ % delays.length] ?? 0 });
        const outcomes: WriteOutcome[] = await Promise.all(
          asked.map(async (writes, index) => (stores[index % processes] as ResourceStore).write(writes)),
        );
        for (const store of stores) await store.whenSettled();
        // A store of another process reads the actual resources, independently of the writers' state.
        const fresh = createResourceStore({
          client: cluster.client(),
          homeNamespace: "home",
          class: "sluice",
          log: { info() {}, warn() {}, error() {} },
          awaitNodes: async () => null,
          signal: AbortSignal.timeout(5000),
        });
        const tables = await tablesOf(fresh);
        const taken = asked.filter((_, index) => !outcomes[index]?.fault);
        assert.ok(
          isReachable(taken, createTables([]), JSON.stringify(contentOf(tables))),
          "no sequence of the writes gives this result",
        );
        const names = (await fresh.list("services", { size: 100 })).entities.map((found) => found.name);
        assert.equal(new Set(names).size, names.length);
        const held: Resource[] = await Promise.all(
          (["Service", "Route", "Consumer"] as const).map((kind) => cluster.client().list(kind)),
        ).then((lists) => lists.flat());
        assert.ok(held.every(({ metadata }) => !metadata.annotations?.["sluice.dev/batch"]));
        stop();
      },
    ),
    { numRuns: randomCases(60) },
  ));
