import assert from "node:assert/strict";
import { test } from "node:test";
import { checkEntity, mergeEntity } from "../index.ts";

const plugin = (config: object) => {
  const { value, violations } = checkEntity("plugins", { name: "rate-limiting", config });
  if (!value) throw new Error(JSON.stringify(violations));
  return value;
};

test("mergeEntity merges records and replaces everything else", () => {
  const upstream = checkEntity("upstreams", { name: "u", tags: ["a"] }).value;
  assert.ok(upstream);
  const merged = mergeEntity("upstreams", upstream, {
    tags: ["b"],
    slots: null,
    healthchecks: { active: { healthy: { interval: 5 } } },
  });
  assert.partialDeepStrictEqual(merged, {
    name: "u",
    tags: ["b"],
    slots: null,
    healthchecks: { active: { type: "http", healthy: { interval: 5, successes: 0 } }, threshold: 0 },
  });
});

test("mergeEntity merges a plugin's config, including deprecated redis members, and null unsets a member", () => {
  const current = plugin({ minute: 5, hour: 9, policy: "redis", redis: { host: "old", port: 1 } });
  const merged = mergeEntity("plugins", current, { config: { minute: null, redis_host: "new" } });
  assert.partialDeepStrictEqual(merged, { config: { minute: null, hour: 9, redis: { host: "new", port: 1 } } });
});

test("mergeEntity keeps an invalid deprecated member for checkEntity to report", () => {
  const current = plugin({ minute: 5, policy: "redis", redis: { host: "old", port: 1 } });
  const merge = (config: object) => checkEntity("plugins", mergeEntity("plugins", current, { config })).violations;
  assert.deepEqual(merge({ redis_port: "x" }), [{ path: ["config", "redis_port"], message: "expected an integer" }]);
  assert.equal(merge({ redis_host: "a", redis: { host: "b" } })?.length, 1);
  assert.equal(merge({ redis_host: null, redis: { host: "b" } }), undefined);
  assert.equal(merge({ redis_host: null, policy: "local" }), undefined);
});

test("setting a hash source selects consistent hashing, unless the change sets another algorithm", () => {
  const current = { name: "u", algorithm: "least-connections", hash_on: "none" };
  assert.equal(mergeEntity("upstreams", current, { hash_on: "ip" }).algorithm, "consistent-hashing");
  const change = { hash_on: "ip", algorithm: "round-robin" };
  assert.equal(mergeEntity("upstreams", current, change).algorithm, "round-robin");
  assert.equal(mergeEntity("upstreams", { ...current, ...change }, { slots: 10 }).algorithm, "round-robin");
});

test("mergeEntity discards the config when the plugin is replaced by another plugin", () => {
  const merged = mergeEntity("plugins", plugin({ minute: 5 }), { name: "cors", config: { max_age: 5 } });
  assert.deepEqual(merged.config, { max_age: 5 });
});

test("mergeEntity replaces mappings and references", () => {
  const route = checkEntity("routes", { headers: { a: ["1"] }, service: { id: "x" } });
  const current = { ...route.value, headers: { a: ["1"] }, service: { id: "x" } };
  const merged = mergeEntity("routes", current, { headers: { b: ["2"] }, service: { name: "y" } });
  assert.partialDeepStrictEqual(merged, { headers: { b: ["2"] }, service: { name: "y" } });
  assert.deepEqual(Object.keys(merged.headers as object), ["b"]);
});

test("mergeEntity keeps a member called __proto__ as a plain member, which checkEntity refuses", () => {
  const merged = mergeEntity("plugins", plugin({ minute: 5 }), JSON.parse('{"config":{"__proto__":{"second":1}}}'));
  assert.ok(Object.hasOwn(merged.config as object, "__proto__"));
  assert.ok(checkEntity("plugins", merged).violations);
});
