import assert from "node:assert/strict";
import { test } from "node:test";
import type { Collection } from "@sluice/model";
import { type Claimant, createClaimInterests, createClaimTable } from "./claims.ts";

let count = 0;
const claimant = (collection: Collection, entity: object, name = "older", namespace = "one"): Claimant => {
  count++;
  const kind = collection === "keyauth_credentials" ? "Consumer" : "Route";
  return { collection, owner: { kind, namespace, name }, entity: { id: `id ${count}`, ...entity } };
};
const route = (members: object) => ({
  paths: null,
  hosts: null,
  methods: null,
  headers: null,
  snis: null,
  protocols: ["http", "https"],
  ...members,
});
const credential = (namespaces: readonly string[] | undefined) => ({
  _sluice: { key_hash: "hash", ...(namespaces && { namespaces }) },
});
const limit = (scope: object) => ({ name: "rate-limiting", service: null, route: null, consumer: null, ...scope });

/** Relation of two entities, collection, older entity, younger entity, message for the younger (null: no conflict). */
const cases: readonly (readonly [string, Collection, object, object, RegExp | null])[] = [
  ["with the same id", "services", { id: "x" }, { id: "x" }, /the older Route one\/older has the id x/],
  ["with the same name", "services", { name: "web" }, { name: "web" }, /has the name web/],
  ["without a name", "services", { name: null }, { name: null }, null],
  ["with the same username", "consumers", { username: "a" }, { username: "a" }, /has the username a/],
  ["with the same custom_id", "consumers", { custom_id: "a" }, { custom_id: "a" }, /has the custom_id a/],
  ["of which one has the other's username as custom_id", "consumers", { username: "a" }, { custom_id: "a" }, null],
  [
    "with the same scope",
    "plugins",
    limit({ service: { id: "s" } }),
    limit({ service: { id: "s" } }),
    /has the plugin rate-limiting for the same target/,
  ],
  [
    "of which one has a narrower scope",
    "plugins",
    limit({ service: { id: "s" } }),
    limit({ service: { id: "s" }, route: { id: "r" } }),
    null,
  ],
  ["for all requests", "plugins", limit({}), limit({}), /same target/],
  ["with names that differ only in case", "snis", { name: "a.test" }, { name: "A.test" }, /has the name A\.test/],
  ["with names that differ only in case", "upstreams", { name: "a.test" }, { name: "A.test" }, /has the name A\.test/],
  [
    "with the same address in one upstream",
    "targets",
    { target: "a:80", upstream: { id: "u" } },
    { target: "A:80", upstream: { id: "u" } },
    /has the target A:80/,
  ],
  [
    "with the same address in different upstreams",
    "targets",
    { target: "a:80", upstream: { id: "u" } },
    { target: "a:80", upstream: { id: "v" } },
    null,
  ],
  [
    "with the same path",
    "routes",
    route({ paths: ["/a"] }),
    route({ paths: ["/a"] }),
    /matches the same requests: change hosts/,
  ],
  [
    "of which the older has all paths of the younger",
    "routes",
    route({ paths: ["/a", "/b"] }),
    route({ paths: ["/b"] }),
    /same requests/,
  ],
  [
    "of which the older has some paths of the younger",
    "routes",
    route({ paths: ["/a"] }),
    route({ paths: ["/a", "/b"] }),
    null,
  ],
  [
    "with the same path on different hosts",
    "routes",
    route({ paths: ["/a"], hosts: ["a"] }),
    route({ paths: ["/a"], hosts: ["b"] }),
    null,
  ],
  [
    "with hosts that differ only in case",
    "routes",
    route({ hosts: ["A.test"] }),
    route({ hosts: ["a.test"] }),
    /same requests/,
  ],
  [
    "with the same hosts in a different order",
    "routes",
    route({ hosts: ["a", "b"] }),
    route({ hosts: ["b", "a"] }),
    /same requests/,
  ],
  [
    "with headers that differ only in case and order",
    "routes",
    route({ headers: { "X-B": ["1"], "x-a": ["2"] } }),
    route({ headers: { "X-A": ["2"], "x-b": ["1"] } }),
    /same requests/,
  ],
  [
    "with different values of a header",
    "routes",
    route({ headers: { a: ["1"] } }),
    route({ headers: { a: ["2"] } }),
    null,
  ],
  [
    "with the same path, of which one restricts the methods,",
    "routes",
    route({ paths: ["/a"], methods: ["GET"] }),
    route({ paths: ["/a"] }),
    null,
  ],
  [
    "of which the older has all hosts of the younger",
    "routes",
    route({ hosts: ["a", "b"] }),
    route({ hosts: ["b"] }),
    /same requests/,
  ],
  [
    "of which the older has some hosts of the younger",
    "routes",
    route({ hosts: ["a"] }),
    route({ hosts: ["a", "b"] }),
    null,
  ],
  [
    "with a common host, of which only the older also has a wildcard,",
    "routes",
    route({ hosts: ["a", "*.b"] }),
    route({ hosts: ["a"] }),
    null,
  ],
  ["with a common wildcard", "routes", route({ hosts: ["a", "*.b"] }), route({ hosts: ["*.b"] }), /same requests/],
  [
    "with a common wildcard, of which only the younger also has a wildcard with a port,",
    "routes",
    route({ hosts: ["*.b"] }),
    route({ hosts: ["*.b", "*.c:80"] }),
    null,
  ],
  [
    "of which the older has all methods of the younger",
    "routes",
    route({ paths: ["/a"], methods: ["GET", "POST"] }),
    route({ paths: ["/a"], methods: ["POST"] }),
    /same requests/,
  ],
  [
    "of which the older has all paths, hosts and methods of the younger",
    "routes",
    route({ paths: ["/a", "/b"], hosts: ["a", "b"], methods: ["GET", "PUT"] }),
    route({ paths: ["/b"], hosts: ["a"], methods: ["PUT", "GET"] }),
    /same requests/,
  ],
  [
    "with the same path and different protocols",
    "routes",
    route({ paths: ["/a"] }),
    route({ paths: ["/a"], protocols: ["https"] }),
    /same/,
  ],
  [
    "with header values that differ only in case and order",
    "routes",
    route({ headers: { a: ["X", "y"] } }),
    route({ headers: { A: ["Y", "x"] } }),
    /same/,
  ],
  [
    "with header patterns that differ in case",
    "routes",
    route({ headers: { a: ["~*X"] } }),
    route({ headers: { a: ["~*x"] } }),
    null,
  ],
  [
    "with the same path, of which one has an empty list of hosts,",
    "routes",
    route({ paths: ["/a"], hosts: [] }),
    route({ paths: ["/a"] }),
    /same/,
  ],
  [
    "with the same host, of which one has an empty list of paths,",
    "routes",
    route({ paths: [], hosts: ["a"] }),
    route({ hosts: ["a"] }),
    /same/,
  ],
  [
    "with the same 300 hosts in a different order",
    "routes",
    route({ hosts: Array.from({ length: 300 }, (_, index) => `h${index}`) }),
    route({ hosts: Array.from({ length: 300 }, (_, index) => `h${299 - index}`) }),
    /same requests/,
  ],
];

for (const [what, collection, older, younger, expected] of cases)
  test(`two ${collection} ${what} ${expected ? "conflict" : "do not conflict"}`, () => {
    const claims = createClaimTable(createClaimInterests());
    assert.equal(claims.claim(claimant(collection, older)), null);
    const answer = claims.claim(claimant(collection, younger, "younger"));
    if (expected) assert.match(answer ?? "", expected);
    else assert.equal(answer, null);
  });

/**
 * Two equal keys: the namespaces whose routes the older key opens (undefined: all), and the namespace of its owner; the
 * same for the younger key; and the message for the owner of the younger key (null: no conflict).
 */
const keys: readonly (readonly [
  readonly string[] | undefined,
  string,
  readonly string[] | undefined,
  string,
  RegExp | null,
])[] = [
  [["one"], "one", ["one"], "one", /the older Consumer one\/older has this key/],
  [["one"], "one", ["two"], "two", null],
  [undefined, "home", ["two"], "two", /^a Consumer of another namespace has this key/],
  [["two"], "two", undefined, "home", /^a Consumer of another namespace has this key/],
  [["one", "two"], "one", ["two"], "two", /^a Consumer of another namespace/],
];
const routesOf = (namespaces: readonly string[] | undefined): string =>
  `routes of ${namespaces?.join(" and ") ?? "all namespaces"}`;
for (const [older, of, younger, by, expected] of keys)
  test(`a key of namespace ${by} for ${routesOf(younger)} ${expected ? "conflicts" : "does not conflict"} with an equal, older key of namespace ${of} for ${routesOf(older)}`, () => {
    const claims = createClaimTable(createClaimInterests());
    assert.equal(claims.claim(claimant("keyauth_credentials", credential(older), "older", of)), null);
    const answer = claims.claim(claimant("keyauth_credentials", credential(younger), "younger", by));
    if (expected) assert.match(answer ?? "", expected);
    else assert.equal(answer, null);
  });

test("a conflicting entity claims nothing", () => {
  const claims = createClaimTable(createClaimInterests());
  claims.claim(claimant("services", { name: "web" }));
  claims.claim(claimant("services", { id: "free", name: "web" }, "loser"));
  assert.equal(claims.claim(claimant("services", { id: "free", name: "other" }, "third")), null);
});

test("a resource that conflicts with itself gets a message about the duplicate", () => {
  const claims = createClaimTable(createClaimInterests());
  claims.claim(claimant("keyauth_credentials", credential(["one"])));
  const answer = claims.claim(claimant("keyauth_credentials", credential(["one"])));
  assert.equal(answer, "the resource gives this key twice: remove one of the two");
});

test("a reserved match is refused to other namespaces, and free for the namespace that reserved it", () => {
  const claims = createClaimTable(createClaimInterests());
  claims.reserve(claimant("routes", route({ paths: ["/a"] }), "broken", "one"));
  assert.match(claims.claim(claimant("routes", route({ paths: ["/a"] }), "x", "two")) ?? "", /Route one\/broken/);
  assert.equal(claims.claim(claimant("routes", route({ paths: ["/a"] }), "heir", "one")), null);
  assert.match(claims.claim(claimant("routes", route({ paths: ["/a"] }), "x", "one")) ?? "", /Route one\/heir/);
});

test("a route with a free match does not get its other match that another namespace has reserved", () => {
  const claims = createClaimTable(createClaimInterests());
  claims.reserve(claimant("routes", route({ paths: ["/a"] }), "broken", "one"));
  assert.equal(claims.claim(claimant("routes", route({ paths: ["/a", "/own"] }), "x", "two")), null);
  assert.equal(claims.claim(claimant("routes", route({ paths: ["/a"] }), "broken", "one")), null);
});

test("a reserved server name is refused to other namespaces, and free for the namespace that reserved it", () => {
  const claims = createClaimTable(createClaimInterests());
  claims.reserve(claimant("snis", { name: "a.test" }, "broken", "one"));
  assert.match(
    claims.claim(claimant("snis", { name: "a.test" }, "x", "two")) ?? "",
    /one\/broken has the name a\.test/,
  );
  assert.equal(claims.claim(claimant("snis", { name: "a.test" }, "heir", "one")), null);
});

test("a match that another resource has claimed or reserved cannot be reserved", () => {
  const claims = createClaimTable(createClaimInterests());
  claims.claim(claimant("routes", route({ paths: ["/taken"] }), "holder", "one"));
  claims.reserve(claimant("routes", route({ paths: ["/taken", "/a"] }), "first", "two"));
  claims.reserve(claimant("routes", route({ paths: ["/a"] }), "second", "three"));
  assert.match(claims.claim(claimant("routes", route({ paths: ["/a"] }), "x", "three")) ?? "", /Route two\/first/);
  assert.match(claims.claim(claimant("routes", route({ paths: ["/taken"] }), "x", "two")) ?? "", /Route one\/holder/);
});

test("a stand-in takes over the scope of the plugin that it replaces", () => {
  const claims = createClaimTable(createClaimInterests());
  const entity = { id: "p", ...limit({}) };
  assert.equal(claims.holderOfScope(claimant("plugins", entity)), undefined);
  claims.claim(claimant("plugins", entity));
  assert.equal(claims.holderOfScope(claimant("plugins", entity)), "p");
  claims.overrideScope(claimant("plugins", { ...entity, id: "stand-in" }));
  assert.equal(claims.holderOfScope(claimant("plugins", entity)), "stand-in");
});

test("two thousand equal keys, each for the routes of a different namespace, do not conflict", () => {
  const claims = createClaimTable(createClaimInterests());
  for (let index = 0; index < 2000; index++) {
    const own = claimant("keyauth_credentials", credential([`n${index}`]), "demo", `n${index}`);
    assert.equal(claims.claim(own), null);
  }
});
