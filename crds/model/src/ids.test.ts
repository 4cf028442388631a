import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalJson, derivedIdOf, deriveId, deriveNamelessId, uuidV5 } from "./ids.ts";

const ROOT = "fd02801f-0957-4a15-a55a-c8d9606f30b5";

test("uuidV5 makes the UUID that RFC 9562 shows for www.example.com", () => {
  assert.equal(
    uuidV5("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.example.com"),
    "2ed6657d-e927-568b-95e1-2665a8aea6a2",
  );
});

test("deriveId follows Kong's chain of root, collection and key", () => {
  for (const [collection, key] of [
    ["services", "users"],
    ["routes", "users"],
    ["consumers", "größe"],
    ["keyauth_credentials", "demo-key"],
    ["plugins", "limits"],
  ] as const) {
    assert.equal(deriveId(collection, key), uuidV5(uuidV5(ROOT, collection), key));
  }
  assert.equal(uuidV5(ROOT, "services"), SERVICES);
  assert.notEqual(deriveId("services", "a"), deriveId("routes", "a"));
});

test("derivedIdOf derives ids from names, the id of a target also from its upstream, and the id of a nameless entity from its content", () => {
  const [one, other] = [uuidV5(ROOT, "one"), uuidV5(ROOT, "other")];
  const target = (upstream: string) =>
    derivedIdOf("targets", { target: "a:80", upstream: { id: upstream }, weight: 5 });
  assert.equal(target(one), uuidV5(uuidV5(one, "targets"), "a:80"));
  assert.notEqual(target(one), target(other));
  assert.equal(derivedIdOf("snis", { name: "a.example", certificate: { id: one } }), deriveId("snis", "a.example"));
  assert.equal(derivedIdOf("upstreams", { name: "u" }), deriveId("upstreams", "u"));
  const certificate = { cert: "c", key: "k", tags: null };
  assert.equal(
    derivedIdOf("certificates", certificate),
    deriveNamelessId("certificates", null, { key: "k", cert: "c" }),
  );
  assert.notEqual(derivedIdOf("certificates", { ...certificate, key: "l" }), derivedIdOf("certificates", certificate));
});

/** Computed with Python's uuid.uuid5, an independent implementation. */
const SERVICES = "90050c4f-539a-5bd9-bfb5-2ff1c430ca18";

test("deriveNamelessId derives an id from the collection, parent and content; order, nulls, ids, timestamps and _sluice do not matter", () => {
  const parent = uuidV5(ROOT, "services");
  const id = deriveNamelessId("plugins", parent, { name: "cors", config: { a: 1, b: null }, tags: null });
  const same = [
    { config: { b: null, a: 1 }, name: "cors" },
    { name: "cors", config: { a: 1 }, id: "x", created_at: 5, updated_at: 6, _sluice: { unavailable: "y" } },
  ];
  for (const content of same) assert.equal(deriveNamelessId("plugins", parent, content), id);
  assert.notEqual(deriveNamelessId("plugins", null, { name: "cors", config: { a: 1 } }), id);
  assert.notEqual(deriveNamelessId("routes", parent, { name: "cors", config: { a: 1 } }), id);
  assert.notEqual(deriveNamelessId("plugins", parent, { name: "cors", config: { a: 2 } }), id);
});

test("canonicalJson sorts members and omits null members, and keeps the order and nulls of lists", () => {
  assert.equal(canonicalJson({ b: [2, null, { d: 1, c: null }], a: "x" }), '{"a":"x","b":[2,null,{"d":1}]}');
});
