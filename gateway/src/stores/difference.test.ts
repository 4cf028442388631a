import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Collection, checkEntity, collections, type Entity } from "@sluice/model";
import fc from "fast-check";
import { randomCases } from "../../../tools/stages/random-cases.ts";
import { writesBetween } from "./difference.ts";
import type { EntityLists } from "./read-all.ts";
import { readAll } from "./read-all.ts";
import type { Write } from "./store.ts";
import { applyWrite, createTables, listFromTables, type Tables } from "./tables/index.ts";

const id = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

function made(collection: Collection, raw: object): Entity {
  const { value, violations } = checkEntity(collection, raw);
  if (!value) throw new Error(JSON.stringify(violations));
  return value;
}

type Raw = Partial<Record<Collection, readonly object[]>>;

const lists = (raw: Raw): EntityLists =>
  Object.fromEntries(
    collections.map((collection) => [collection, (raw[collection] ?? []).map((one) => made(collection, one))]),
  );

const tablesOf = (entities: EntityLists): Tables =>
  createTables(
    collections.flatMap((collection) => (entities[collection] ?? []).map((entity) => ({ collection, entity }))),
  );

const readTables = (tables: Tables): Promise<EntityLists> =>
  readAll({ list: async (collection, options) => listFromTables(tables, collection, { ...options, now: 0 }) });

const summaryOf = (writes: readonly Write[]): readonly string[] =>
  writes.map((one) => {
    const of = one.op === "remove" ? Object.values(one.by)[0] : one.entity.id;
    return `${one.op} ${one.collection} ${Number(String(of).slice(-12))}`;
  });

const users = { id: id(1), name: "users", host: "a" };
const web = { id: id(2), name: "web", paths: ["/"], service: { id: id(1) } };

describe("the difference of two configurations", () => {
  const table: readonly (readonly [string, Raw, Raw, readonly string[]])[] = [
    ["is empty if no entity changed", { services: [users] }, { services: [users] }, []],
    [
      "creates parents before their children",
      {},
      { routes: [web], services: [users] },
      ["create services 1", "create routes 2"],
    ],
    [
      "removes children before their parents",
      { routes: [web], services: [users] },
      {},
      ["remove routes 2", "remove services 1"],
    ],
    [
      "removes a service only after its routes refer to another service",
      { services: [users], routes: [web] },
      { services: [{ ...users, id: id(3), name: "other" }], routes: [{ ...web, service: { id: id(3) } }] },
      ["create services 3", "replace routes 2", "remove services 1"],
    ],
    [
      "frees a name before another entity uses it",
      {
        services: [
          { ...users, id: id(1), name: "a" },
          { ...users, id: id(3), name: "b" },
        ],
      },
      {
        services: [
          { ...users, id: id(1), name: "b" },
          { ...users, id: id(3), name: "c" },
          { ...users, id: id(4), name: "a" },
        ],
      },
      ["replace services 3", "replace services 1", "create services 4"],
    ],
    [
      "removes and recreates an entity and its dependents if it exchanges names with another entity",
      {
        services: [
          { ...users, name: "a" },
          { ...users, id: id(3), name: "b" },
        ],
        routes: [web],
      },
      {
        services: [
          { ...users, name: "b" },
          { ...users, id: id(3), name: "a" },
        ],
        routes: [web],
      },
      ["remove routes 2", "remove services 1", "replace services 3", "create services 1", "create routes 2"],
    ],
    [
      "first removes an entity whose name a new entity needs",
      { services: [users], routes: [web] },
      { services: [{ ...users, id: id(3) }], routes: [{ ...web, service: { id: id(3) } }] },
      ["remove routes 2", "remove services 1", "create services 3", "create routes 2"],
    ],
  ];
  for (const [does, before, after, writes] of table) {
    test(does, () => assert.deepEqual(summaryOf(writesBetween(lists(before), lists(after), { now: 9 })), writes));
  }

  test("keeps entities that only the store has, on request", () => {
    const writes = writesBetween(
      lists({ services: [users] }),
      lists({ services: [{ ...users, id: id(3), name: "b" }] }),
      {
        now: 9,
        keep: true,
      },
    );
    assert.deepEqual(summaryOf(writes), ["create services 3"]);
  });

  test("creates kept entities again if they refer to entities that exchange names", () => {
    const [first, second] = [
      { ...users, name: "a" },
      { ...users, id: id(3), name: "b" },
    ];
    const before = lists({ services: [first, second], routes: [web] });
    const after = lists({
      services: [
        { ...first, name: "b" },
        { ...second, name: "a" },
      ],
    });
    const writes = writesBetween(before, after, { now: 5, keep: true });
    const { tables, fault } = applyWrite(tablesOf(before), writes);
    assert.equal(fault, undefined);
    assert.deepEqual([...(tables?.rows.routes.values() ?? [])], before.routes);
    assert.deepEqual(
      [...(tables?.rows.services.values() ?? [])].map((service) => Reflect.get(service, "name")),
      ["b", "a"],
    );
  });

  test("keeps timestamps that the document omits, and sets new timestamps for changed entities", () => {
    const before = lists({ services: [{ ...users, created_at: 5, updated_at: 6 }] });
    assert.deepEqual(writesBetween(before, lists({ services: [users] }), { now: 9 }), []);
    const [changed] = writesBetween(before, lists({ services: [{ ...users, port: 81 }] }), { now: 9 });
    assert.partialDeepStrictEqual(changed, { entity: { created_at: 5, updated_at: 9 } });
    const [created] = writesBetween({}, lists({ services: [{ ...users, created_at: 7 }] }), { now: 9 });
    assert.partialDeepStrictEqual(created, { entity: { created_at: 7, updated_at: 9 } });
  });

  test("identifies an entity without an id by its name, even in references", () => {
    const before = lists({
      services: [users],
      routes: [web],
      plugins: [{ id: id(5), name: "cors", route: { id: id(2) } }],
      consumers: [{ id: id(6), username: "ann" }],
      keyauth_credentials: [{ id: id(7), key: "k", consumer: { id: id(6) } }],
    });
    const [service] = lists({ services: [{ ...users, id: null }] }).services ?? [];
    const [route] = lists({ routes: [{ ...web, id: null, service: { id: service?.id } }] }).routes ?? [];
    const [consumer] = lists({ consumers: [{ username: "ann" }] }).consumers ?? [];
    const after = lists({
      services: [{ ...users, id: null, port: 81 }],
      routes: [{ ...web, id: null, service: { id: service?.id } }],
      plugins: [{ name: "cors", route: { id: route?.id } }],
      consumers: [{ username: "ann" }],
      keyauth_credentials: [{ key: "k", consumer: { id: consumer?.id } }],
    });
    assert.deepEqual(summaryOf(writesBetween(before, after, { now: 9 })), ["replace services 1"]);
  });

  test("leads from any configuration to any other through valid writes", async () => {
    const name = fc.option(fc.constantFrom("a", "b", "c"), { nil: null });
    const number = fc.integer({ min: 1, max: 4 });
    const reference = fc.option(number, { nil: null });
    const configuration = fc.record({
      services: fc.array(fc.record({ id: number, name, port: number }), { maxLength: 4 }),
      routes: fc.array(fc.record({ id: number, name, service: reference }), { maxLength: 4 }),
      plugins: fc.array(
        fc.record({ id: number, name: fc.constantFrom("cors", "prometheus"), service: reference, route: reference }),
        { maxLength: 5 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(configuration, configuration, async (one, other) => {
        const [before, after] = [await good(one), await good(other)];
        const writes = writesBetween(before, after, { now: 9 });
        const done = applyWrite(tablesOf(before), writes);
        assert.ok(done.tables, JSON.stringify(done.fault));
        assert.deepEqual(await ids(done.tables), await ids(tablesOf(after)));
        assert.deepEqual(writesBetween(await readTables(done.tables), after, { now: 10 }), []);
      }),
      { numRuns: randomCases(100) },
    );
  });
});

interface Drawn {
  readonly id: number;
  readonly name: string | null;
  readonly port?: number;
  readonly service?: number | null;
  readonly route?: number | null;
}

/** The generated entities, without those that conflict with earlier entities. */
async function good(drawn: Partial<Record<Collection, readonly Drawn[]>>): Promise<EntityLists> {
  let tables = createTables([]);
  for (const collection of collections) {
    for (const { id: number, service, route, ...members } of drawn[collection] ?? []) {
      const entity = made(collection, {
        ...members,
        id: id(number),
        ...(collection === "services" && { host: "a" }),
        ...(collection === "routes" && { paths: ["/"] }),
        ...(service && { service: { id: id(service) } }),
        ...(route && { route: { id: id(route) } }),
      });
      tables = applyWrite(tables, [{ op: "create", collection, entity }]).tables ?? tables;
    }
  }
  return readTables(tables);
}

async function ids(tables: Tables): Promise<readonly string[]> {
  const read = await readTables(tables);
  return collections.flatMap((collection) =>
    (read[collection] ?? []).map((entity: Entity) => JSON.stringify({ ...entity, created_at: 0, updated_at: 0 })),
  );
}
