import assert from "node:assert/strict";
import { test } from "node:test";
import { type Collection, checkEntity, type Entities, type Entity } from "@sluice/model";
import { etagOf } from "../etag.ts";
import type { Effect, Write, WriteFault } from "../store.ts";
import {
  applyWrite,
  createTables,
  faultyClaimKeys,
  findInTables,
  listFromTables,
  type PlacedEntity,
  type Tables,
} from "./index.ts";

function made<Name extends Collection>(collection: Name, raw: object): Entities[Name] {
  const { value, violations } = checkEntity(collection, raw, { now: 0 });
  if (!value) throw new Error(JSON.stringify(violations));
  return value;
}

let count = 0;
const uuid = () => `00000000-0000-4000-8000-${(++count).toString(16).padStart(12, "0")}`;
const service = (name: string, raw: object = {}) => made("services", { id: uuid(), name, host: "a.example", ...raw });
const route = (raw: object) => made("routes", { id: uuid(), paths: ["/"], ...raw });
const consumer = (username: string) => made("consumers", { id: uuid(), username });
const credential = (owner: Entity, key: string, raw: object = {}) =>
  made("keyauth_credentials", { id: uuid(), consumer: { id: owner.id }, key, ...raw });
const upstream = (name: string) => made("upstreams", { id: uuid(), name });
const target = (of: Entity, address: string) =>
  made("targets", { id: uuid(), target: address, upstream: { id: of.id } });
const plugin = (name: string, raw: object = {}) => made("plugins", { id: uuid(), name, ...raw });

const placed = (collection: Collection, ...all: readonly Entity[]): readonly PlacedEntity[] =>
  all.map((entity) => ({ collection, entity }));
const create = (collection: Collection, entity: Entity): Write => ({ op: "create", collection, entity });
const remove = (collection: Collection, id: string): Write => ({ op: "remove", collection, by: { id } });

function after(tables: Tables, ...writes: readonly Write[]): { tables: Tables; effects: readonly Effect[] } {
  const { tables: next, effects, fault } = { effects: [], ...applyWrite(tables, writes) };
  assert.ok(next, JSON.stringify(fault));
  return { tables: next, effects };
}
function refusal(tables: Tables, ...writes: readonly Write[]): { fault: WriteFault; index: number } {
  const { fault, index } = { index: -1, ...applyWrite(tables, writes) };
  assert.ok(fault, "the writes should have been refused");
  return { fault, index };
}
const names = (tables: Tables, options: object = {}) =>
  listFromTables(tables, "services", { size: 100, now: 0, ...options }).entities.map(({ name }) => name);

test("each write sees the result of the previous write, and the original tables stay unchanged", () => {
  const users = service("users");
  const web = route({ service: { id: users.id } });
  const empty = createTables([]);
  const { tables, effects } = after(empty, create("services", users), create("routes", web), remove("routes", web.id));
  assert.deepEqual(effects, [
    { collection: "services", before: null, after: users, along: [] },
    { collection: "routes", before: null, after: web, along: [] },
    { collection: "routes", before: web, after: null, along: [] },
  ]);
  assert.deepEqual(names(tables), ["users"]);
  assert.deepEqual(names(empty), []);
});

test("the faults of a write are found in the order of Postgres' checks", () => {
  const users = service("users");
  const tables = createTables(placed("services", users));
  const nowhere = { id: uuid() };
  const unique: WriteFault = { kind: "unique", members: { name: "users" } };
  const table: readonly (readonly [Write, WriteFault])[] = [
    [create("services", { ...users }), { kind: "primary-key", id: users.id }],
    [create("services", service("users", { protocol: "https", client_certificate: nowhere })), unique],
    [
      create("services", service("other", { protocol: "https", client_certificate: nowhere })),
      { kind: "foreign-key", member: "client_certificate", to: "certificates", id: nowhere.id },
    ],
  ];
  for (const [one, fault] of table) assert.deepEqual(refusal(tables, one), { fault, index: 0 });
  assert.deepEqual(refusal(tables, create("services", service("b")), create("services", service("b"))), {
    fault: { kind: "unique", members: { name: "b" } },
    index: 1,
  });
});

test("a write renames an entity, and frees its former name", () => {
  const users = service("users");
  const other = service("other");
  const tables = createTables(placed("services", users, other));
  const renamed = service("people", { id: users.id });
  const replaced = after(
    tables,
    { op: "replace", collection: "services", entity: renamed, etag: etagOf(users) },
    create("services", service("users")),
  );
  assert.deepEqual(replaced.effects[0], { collection: "services", before: users, after: renamed, along: [] });
  assert.equal(
    findInTables(replaced.tables, "services", { by: { member: "name", value: "people" }, now: 0 })?.id,
    users.id,
  );
  const clash: Write = { op: "replace", collection: "services", entity: service("other", { id: users.id }) };
  assert.deepEqual(refusal(tables, clash).fault, { kind: "unique", members: { name: "other" } });
});

test("a write is rejected as changed if its ETag is outdated or the entity to replace is missing", () => {
  const users = service("users");
  const tables = createTables(placed("services", users));
  const etag = "0000000000000000";
  const missing = service("missing");
  const writes: readonly Write[] = [
    { op: "replace", collection: "services", entity: users, etag },
    { op: "replace", collection: "services", entity: missing },
    { op: "remove", collection: "services", by: { id: users.id }, etag },
    { op: "remove", collection: "services", by: { id: missing.id }, etag },
  ];
  assert.deepEqual(
    writes.map((one) => refusal(tables, one).fault.kind),
    ["changed", "changed", "changed", "changed"],
  );
  assert.equal(after(tables, remove("services", missing.id)).effects[0]?.before, null);
});

test("a removal includes dependents, children first, and is refused while a reference forbids it", () => {
  const bob = consumer("bob");
  const users = service("users");
  const web = route({ service: { id: users.id } });
  const key = credential(bob, "secret");
  const both = plugin("rate-limiting", { config: { minute: 1 }, route: { id: web.id }, consumer: { id: bob.id } });
  const tables = createTables([
    ...placed("services", users),
    ...placed("routes", web),
    ...placed("consumers", bob),
    ...placed("keyauth_credentials", key),
    ...placed("plugins", both),
  ]);
  assert.deepEqual(refusal(tables, remove("services", users.id)).fault, {
    kind: "referenced",
    by: "routes",
    collection: "services",
  });
  const gone = after(tables, remove("consumers", bob.id));
  assert.deepEqual(gone.effects[0]?.along, [
    { collection: "keyauth_credentials", entity: key },
    { collection: "plugins", entity: both },
  ]);
  const rest = after(gone.tables, remove("routes", web.id), remove("services", users.id)).tables;
  assert.deepEqual(names(rest), []);
});

test("a name that is unique only within a parent is found there", () => {
  const [one, two] = [upstream("one"), upstream("two")];
  const [mine, theirs] = [target(one, "a:80"), target(two, "a:80")];
  const tables = createTables([...placed("upstreams", one, two), ...placed("targets", mine, theirs)]);
  for (const [of, expected] of [
    [one, mine],
    [two, theirs],
  ] as const) {
    const by = { member: "target", value: "a:80", within: { member: "upstream", id: of.id } };
    assert.equal(findInTables(tables, "targets", { by, now: 0 }), expected);
  }
  assert.equal(refusal(tables, create("targets", target(one, "a:80"))).fault.kind, "unique");
  assert.equal(after(tables, remove("upstreams", one.id)).effects[0]?.along.length, 1);
});

test("entities are listed in pages, by tags and by references", () => {
  const all = [
    service("a", { tags: ["x", "y"] }),
    service("b", { tags: ["y"] }),
    service("c"),
    service("d", { tags: ["x"] }),
  ];
  const tables = createTables(placed("services", ...all));
  assert.deepEqual(names(tables), ["a", "b", "c", "d"]);
  assert.deepEqual(names(tables, { tags: { tags: ["x", "y"], match: "every" } }), ["a"]);
  assert.deepEqual(names(tables, { tags: { tags: ["x", "y"], match: "some" } }), ["a", "b", "d"]);
  assert.deepEqual(names(tables, { after: all[1]?.id, size: 1 }), ["c"]);
  assert.equal(listFromTables(tables, "services", { size: 3, now: 0 }).more, true);
  assert.equal(listFromTables(tables, "services", { size: 4, now: 0 }).more, false);
  const web = route({ service: { id: all[0]?.id } });
  const routed = after(tables, create("routes", web), create("routes", route({ service: { id: all[1]?.id } }))).tables;
  const where = { member: "service", id: all[0]?.id ?? "" };
  assert.deepEqual(listFromTables(routed, "routes", { size: 9, now: 0, where }).entities, [web]);
});

test("expired keys are hidden", () => {
  const bob = consumer("bob");
  const key = credential(bob, "secret", { ttl: 10 });
  const tables = createTables([...placed("consumers", bob), ...placed("keyauth_credentials", key)]);
  const seen = (now: number) => [
    findInTables(tables, "keyauth_credentials", { by: { id: key.id }, now }) !== null,
    listFromTables(tables, "keyauth_credentials", { size: 9, now }).entities.length,
  ];
  assert.deepEqual(
    [seen(10_999), seen(11_000)],
    [
      [true, 1],
      [false, 0],
    ],
  );
});

test("an expired key is removed only when its id or its value is used again", () => {
  const bob = consumer("bob");
  const key = credential(bob, "secret", { ttl: 10 });
  const tables = createTables([...placed("consumers", bob), ...placed("keyauth_credentials", key)]);
  const again = credential(bob, "secret");
  for (const entity of [again, { ...credential(bob, "other"), id: key.id }]) {
    const writes = [create("keyauth_credentials", entity)];
    assert.ok(applyWrite(tables, writes, { now: 10_999 }).fault);
    const written = applyWrite(tables, writes, { now: 11_000 });
    if (written.fault) throw new Error(JSON.stringify(written.fault));
    const along = placed("keyauth_credentials", key);
    assert.deepEqual(written.effects, [{ collection: "keyauth_credentials", before: null, after: entity, along }]);
    assert.equal(written.tables.rows.keyauth_credentials.size, 1);
  }
});

test("the id and name of an invalid entity are reserved until it is removed", () => {
  const bad = service("bad");
  const asPlaced = { collection: "services", entity: bad } as const;
  const faulty = new Map(faultyClaimKeys("services", bad).map((claim) => [claim, asPlaced] as const));
  const tables = createTables([], faulty);
  assert.deepEqual(names(tables), []);
  assert.equal(refusal(tables, create("services", bad)).fault.kind, "primary-key");
  assert.equal(refusal(tables, create("services", service("bad"))).fault.kind, "unique");
  const by = { member: "name", value: "bad" };
  const { effects } = after(tables, { op: "remove", collection: "services", by }, create("services", bad));
  assert.deepEqual([effects[0]?.before, effects[1]?.after], [bad, bad]);
});

test("the address of an invalid target is reserved in its upstream until the target is removed", () => {
  const pool = upstream("pool");
  const bad = target(pool, "10.0.0.1:80");
  const claims = faultyClaimKeys("targets", bad);
  const tables = createTables(
    placed("upstreams", pool),
    new Map(claims.map((claim) => [claim, { collection: "targets", entity: bad } as const])),
  );
  const again = target(pool, bad.target);
  assert.equal(refusal(tables, create("targets", again)).fault.kind, "unique");
  const { effects } = after(tables, remove("targets", bad.id), create("targets", again));
  assert.deepEqual([effects[0]?.before, effects[1]?.after], [bad, again]);
});

test("tables after many writes equal newly built tables", () => {
  let tables = createTables([]);
  const there = new Map<string, Entity>();
  for (let step = 0; step < 400; step++) {
    const victim = [...there.keys()][(step * 7) % Math.max(there.size, 1)];
    const fresh = service(`s${step}`);
    const one = step % 3 === 2 && victim !== undefined ? remove("services", victim) : create("services", fresh);
    if (one.op === "remove") there.delete(victim ?? "");
    else there.set(fresh.id, fresh);
    tables = after(tables, one).tables;
  }
  const anew = createTables(placed("services", ...there.values()));
  assert.deepEqual(names(tables, { size: 1000 }), names(anew, { size: 1000 }));
  assert.deepEqual(names(tables, { size: 1000 }).length, there.size);
});

test("a write to a table of 10,000 entities takes less than 2 ms on average", () => {
  let tables = createTables(placed("services", ...Array.from({ length: 10_000 }, (_, index) => service(`s${index}`))));
  const began = performance.now();
  for (let run = 0; run < 200; run++) tables = after(tables, create("services", service(`x${run}`))).tables;
  const each = (performance.now() - began) / 200;
  assert.ok(each < 2, `a write took ${each} ms`);
});
