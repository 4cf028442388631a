import assert from "node:assert/strict";
import { test } from "node:test";
import { checkEntity } from "../check/index.ts";
import type { Collection } from "../entities/index.ts";
import { minimalEntity } from "./minimal-entity.ts";

const id = "0123abcd-0000-4000-8000-00000000000f";

const table: readonly [string, Collection, object, object][] = [
  ["a name", "services", { name: "a", host: "up" }, { name: "a", host: "up" }],
  ["an id that is not derived from the name", "services", { host: "up", id, name: "a" }, { id, name: "a", host: "up" }],
  ["a url's parts", "services", { url: "https://up/x" }, { host: "up", path: "/x", port: 443, protocol: "https" }],
  ["timestamps other than 0", "consumers", { created_at: 5, username: "b", updated_at: 6, tags: ["t"] }, {}],
  ["references", "keyauth_credentials", { key: "k", consumer: { id } }, { key: "k", consumer: { id } }],
  ["a plugin's config", "plugins", { name: "rate-limiting", config: { minute: 5, redis: { port: 1 } } }, {}],
  ["a plugin whose config has only defaults", "plugins", { name: "cors", config: { max_age: null } }, { name: "cors" }],
];

for (const [what, collection, raw, expected] of table) {
  test(`minimalEntity keeps the members from which checkEntity restores the entity: ${what}`, () => {
    const { value: entity } = checkEntity(collection, raw);
    assert.ok(entity);
    const brief = minimalEntity(collection, entity);
    assert.deepEqual(checkEntity(collection, brief).value, entity);
    if (Object.keys(expected).length > 0) assert.deepEqual(brief, expected);
  });
}

test("minimalEntity puts identifying members first and timestamps last", () => {
  const { value: entity } = checkEntity("consumers", { created_at: 5, username: "b", updated_at: 6, tags: ["t"], id });
  assert.ok(entity);
  assert.deepEqual(Object.keys(minimalEntity("consumers", entity)), [
    "id",
    "username",
    "tags",
    "created_at",
    "updated_at",
  ]);
});

test("minimalEntity reduces a plugin's config to the members that differ from their defaults", () => {
  const { value: entity } = checkEntity("plugins", {
    name: "rate-limiting",
    config: { minute: 5, redis: { port: 1 } },
  });
  assert.ok(entity);
  assert.deepEqual(minimalEntity("plugins", entity).config, { minute: 5, redis: { port: 1 } });
});
