import assert from "node:assert/strict";
import { test } from "node:test";
import { checkEntity } from "../check/index.ts";
import { collections, entities } from "../entities/index.ts";
import { toCamel } from "../names.ts";
import { kindFacts } from "./index.ts";
import type { KindFacts, SpecNode } from "./kind.ts";
import { camelPath, readSpec, writeSpec } from "./spelling.ts";

/** Members that a spec does not have: they are computed, or the resource expresses them in another way. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  certificates: ["created_at", "updated_at", "cert", "key", "cert_alt", "key_alt"],
  ca_certificates: ["created_at", "updated_at", "cert_digest"],
  snis: ["created_at", "updated_at", "certificate"],
  upstreams: ["created_at", "updated_at", "client_certificate"],
  targets: ["created_at", "updated_at", "upstream"],
  services: ["created_at", "updated_at", "client_certificate", "ca_certificates"],
  routes: ["created_at", "updated_at", "service"],
  consumers: ["created_at", "updated_at"],
  consumer_groups: ["created_at", "updated_at"],
  vaults: ["created_at", "updated_at", "name"],
  graphql_documents: ["created_at", "updated_at"],
  plugins: ["created_at", "updated_at", "name", "service", "route", "consumer", "consumer_group"],
  keyauth_credentials: ["created_at", "consumer", "key"],
  jwt_secrets: ["created_at", "consumer", "secret"],
  basicauth_credentials: ["created_at", "consumer", "password"],
  hmacauth_credentials: ["created_at", "consumer", "secret"],
  mtls_auth_credentials: ["created_at", "consumer", "ca_certificate"],
  acls: ["created_at", "consumer"],
  consumer_group_consumers: ["created_at", "consumer", "consumer_group"],
  plugin_credentials: ["created_at", "consumer", "key"],
};

/** The schemas of entities that are list entries in the spec of their parent. */
const inside: Readonly<Record<string, SpecNode | undefined>> = {
  keyauth_credentials: kindFacts.Consumer.spec.properties?.keyAuth?.items,
  jwt_secrets: kindFacts.Consumer.spec.properties?.jwt?.items,
  basicauth_credentials: kindFacts.Consumer.spec.properties?.basicAuth?.items,
  hmacauth_credentials: kindFacts.Consumer.spec.properties?.hmacAuth?.items,
  mtls_auth_credentials: kindFacts.Consumer.spec.properties?.mtlsAuth?.items,
  acls: kindFacts.Consumer.spec.properties?.acls?.items,
  consumer_group_consumers: kindFacts.Consumer.spec.properties?.consumerGroups?.items,
  plugin_credentials: kindFacts.Consumer.spec.properties?.pluginCredentials?.items,
  targets: kindFacts.Upstream.spec.properties?.targets?.items,
  snis: kindFacts.Certificate.spec.properties?.snis?.items,
};

const facts = (collection: string): KindFacts | undefined =>
  Object.values(kindFacts).find((kind) => kind.collection === collection);

test("every member of every entity is in a spec, or on the list of exceptions", () => {
  for (const collection of collections) {
    const spec = facts(collection)?.spec ?? inside[collection];
    for (const name of Object.keys(entities[collection].schema.properties)) {
      const placed = spec?.properties?.[toCamel(name)] !== undefined;
      // In these specs, `name` is not the entity's member of that name.
      if ((collection === "plugins" || collection === "vaults") && name === "name") continue;
      assert.equal(placed, !elsewhere[collection]?.includes(name), `${collection}.${name}`);
    }
  }
});

test("the member stripPath of a Route's spec has the description of the entity's member strip_path", () => {
  assert.equal(
    kindFacts.Route.spec.properties?.stripPath?.description,
    entities.routes.schema.properties?.strip_path?.description,
  );
});

const faults: readonly (readonly [string, keyof typeof kindFacts, unknown, readonly unknown[]])[] = [
  ["a spec that is not a record", "Route", ["x"], [[[], "expected a record"]]],
  ["an unknown member", "Route", { colour: 1 }, [[["colour"], "unknown field"]]],
  [
    "a member in snake_case",
    "Route",
    { strip_path: true },
    [[["strip_path"], "unknown field: it is written stripPath"]],
  ],
  ["a missing required member", "Plugin", {}, [[["plugin"], "required field missing"]]],
  ["a reference of the wrong type", "Route", { serviceRef: "users" }, [[["serviceRef"], "expected a record"]]],
  ["a reference without a name", "Route", { serviceRef: {} }, [[["serviceRef", "name"], "required field missing"]]],
  [
    "errors inside a list",
    "Plugin",
    { plugin: "cors", targetRefs: [{ kind: "Pod", name: "x" }] },
    [
      [
        ["targetRefs", 0, "kind"],
        "expected one of: Service, Route, Consumer, ConsumerGroup, Ingress, HTTPRoute, GRPCRoute, Gateway",
      ],
    ],
  ],
  ["an invalid id", "Service", { host: "x", id: "1" }, [[["id"], "expected a valid UUID"]]],
  [
    "an unknown member named like an inherited property",
    "Service",
    { host: "x", toString: "y" },
    [[["toString"], "unknown field"]],
  ],
];
for (const [name, kind, spec, expected] of faults) {
  test(`reading a spec reports ${name}`, () => {
    const { violations } = readSpec(kindFacts[kind].spec, spec);
    assert.deepEqual(
      violations.map(({ path, message }) => [path, message]),
      expected,
    );
  });
}

test("reading a spec separates the entity's members from the spec's own members, and keeps names of headers", () => {
  const { members, own, violations } = readSpec(kindFacts.Route.spec, {
    id: null,
    stripPath: false,
    headers: { "X-strip_path": ["a"] },
    serviceRef: { name: "users" },
  });
  assert.deepEqual(violations, []);
  assert.deepEqual(members, { strip_path: false, headers: { "X-strip_path": ["a"] } });
  assert.deepEqual(own, { serviceRef: { name: "users" } });
});

test("a written spec has no unset members, and has a member with its default value only if the previous spec has it", () => {
  const entity = { retries: 5, port: 80, path: null, host: "x", read_timeout: 7, tags: ["a"] };
  assert.deepEqual(writeSpec(kindFacts.Service.spec, entity), { host: "x", readTimeout: 7, tags: ["a"] });
  assert.deepEqual(writeSpec(kindFacts.Service.spec, entity, { retries: 3, path: "/x" }), {
    host: "x",
    readTimeout: 7,
    tags: ["a"],
    retries: 5,
  });
});

test("a spec spells members of an upstream's health checks in camelCase, and omits defaults, which reading restores", () => {
  const { value } = checkEntity("upstreams", {
    name: "u",
    healthchecks: { active: { http_path: "/up", headers: { x_y: ["a"] }, unhealthy: { tcp_failures: 3 } } },
  });
  const spec = writeSpec(kindFacts.Upstream.spec, { ...value });
  assert.deepEqual(spec, {
    healthchecks: { active: { httpPath: "/up", headers: { x_y: ["a"] }, unhealthy: { tcpFailures: 3 } } },
  });
  const { members } = readSpec(kindFacts.Upstream.spec, spec);
  assert.deepEqual(checkEntity("upstreams", { ...members, name: "u" }).value, value);
});

const paths = [
  ["services", ["read_timeout"], ["readTimeout"]],
  ["routes", ["headers", "x_forwarded", 0], ["headers", "x_forwarded", 0]],
  ["routes", ["sources", 1, "ip"], ["sources", 1, "ip"]],
  ["plugins", ["config", "hide_credentials"], ["config", "hide_credentials"]],
  ["plugins", ["instance_name"], ["instanceName"]],
  ["consumers", ["custom_id"], ["customId"]],
  ["upstreams", ["healthchecks", "active", "http_path"], ["healthchecks", "active", "httpPath"]],
  ["upstreams", ["healthchecks", "active", "headers", "x_y", 0], ["healthchecks", "active", "headers", "x_y", 0]],
  ["consumers", ["unknown_member", "x_y"], ["unknown_member", "x_y"]],
] as const;
for (const [collection, path, expected] of paths) {
  test(`the path ${path.join(".")} of ${collection} is ${expected.join(".")} in a spec`, () => {
    assert.deepEqual(camelPath(collection, path), expected);
  });
}

test("duplicate tags of an entry are not a violation, because validation of the entity removes them", () => {
  const spec = { secretRef: { name: "pair" }, snis: [{ name: "a.example", tags: ["blue", "blue"] }] };
  assert.deepEqual(readSpec(kindFacts.Certificate.spec, spec).violations, []);
});
