import assert from "node:assert/strict";
import { test } from "node:test";
import { neededConfigs } from "../../../../test/plugins/filled-configs.ts";
import { type Collection, collections } from "../entities/index.ts";
import { deriveId, deriveNamelessId } from "../ids.ts";
import { pluginNames } from "../plugins/index.ts";
import { checkConfig, checkEntity } from "./index.ts";

const UUID = "fd02801f-0957-4a15-a55a-c8d9606f30b5";

function filled(collection: Collection, raw: unknown): Record<string, unknown> {
  const { value, violations } = checkEntity(collection, raw);
  assert.deepEqual(violations, undefined);
  return value as unknown as Record<string, unknown>;
}

test("checkEntity fills a service with Kong's defaults", () => {
  assert.deepEqual(filled("services", { name: "users", host: "up" }), {
    id: deriveId("services", "users"),
    created_at: 0,
    updated_at: 0,
    name: "users",
    retries: 5,
    protocol: "http",
    host: "up",
    port: 80,
    path: null,
    connect_timeout: 60_000,
    write_timeout: 60_000,
    read_timeout: 60_000,
    tags: null,
    client_certificate: null,
    tls_verify: null,
    tls_verify_depth: null,
    ca_certificates: null,
    enabled: true,
    upstream_headers: null,
    retry_budget: null,
  });
});

test("checkEntity fills a route with Kong's defaults", () => {
  const { id, ...rest } = filled("routes", { paths: ["/a"], service: { id: UUID } });
  assert.equal(id, deriveNamelessId("routes", UUID, rest));
  assert.deepEqual(rest, {
    created_at: 0,
    updated_at: 0,
    name: null,
    protocols: ["http", "https"],
    methods: null,
    hosts: null,
    paths: ["/a"],
    headers: null,
    snis: null,
    sources: null,
    destinations: null,
    https_redirect_status_code: 426,
    strip_path: true,
    preserve_host: false,
    regex_priority: 0,
    path_handling: "v0",
    request_buffering: true,
    response_buffering: true,
    tags: null,
    service: { id: UUID },
  });
});

test("checkEntity fills consumers, credentials and plugins with Kong's defaults", () => {
  assert.deepEqual(filled("consumers", { username: "demo" }), {
    id: deriveId("consumers", "demo"),
    created_at: 0,
    updated_at: 0,
    username: "demo",
    custom_id: null,
    tags: null,
  });
  assert.deepEqual(filled("keyauth_credentials", { key: "demo-key", consumer: { id: UUID } }), {
    id: deriveId("keyauth_credentials", "demo-key"),
    created_at: 0,
    consumer: { id: UUID },
    key: "demo-key",
    tags: null,
    ttl: null,
  });
  const { id, config, ...plugin } = filled("plugins", { name: "key-auth", instance_name: "keys" });
  assert.equal(id, deriveId("plugins", "keys"));
  assert.deepEqual(config, {
    key_names: ["apikey"],
    hide_credentials: false,
    anonymous: null,
    key_in_header: true,
    key_in_query: true,
    key_in_body: false,
    run_on_preflight: true,
    realm: null,
  });
  assert.deepEqual(plugin, {
    created_at: 0,
    updated_at: 0,
    name: "key-auth",
    instance_name: "keys",
    route: null,
    service: null,
    consumer: null,
    consumer_group: null,
    protocols: ["grpc", "grpcs", "http", "https"],
    enabled: true,
    tags: null,
  });
});

test("checkConfig fills nested records of a config", () => {
  const { redis, ...config } = checkConfig("rate-limiting", { minute: 5 }).value ?? assert.fail();
  assert.deepEqual(redis, {
    host: null,
    port: 6379,
    timeout: 2000,
    username: null,
    password: null,
    database: 0,
    ssl: false,
    ssl_verify: false,
    server_name: null,
  });
  assert.equal(config.minute, 5);
  assert.equal(config.limit_by, "consumer");
  assert.equal(config.policy, "local");
  assert.equal(config.error_code, 429);
  assert.equal(config.error_message, "API rate limit exceeded");
  assert.equal(config.sync_rate, -1);
});

test("every entity gets its own copy of a default, so that no two entities share an array", () => {
  const first = filled("routes", { paths: ["/a"] });
  (first.protocols as string[]).push("changed");
  assert.deepEqual(filled("routes", { paths: ["/a"] }).protocols, ["http", "https"]);
});

test("unset timestamps become the current time, and set timestamps are kept", () => {
  const now = { now: 1_700_000_000 };
  const value = checkEntity("consumers", { username: "a", created_at: 5, updated_at: null }, now).value;
  assert.equal(value?.created_at, 5);
  assert.equal(value?.updated_at, 1_700_000_000);
});

const urls: readonly (readonly [url: string, parts: readonly unknown[]])[] = [
  ["http://a", ["http", "a", 80, null]],
  ["https://a", ["https", "a", 443, null]],
  ["HTTPS://a/b/", ["https", "a", 443, "/b/"]],
  ["http://a:8080/", ["http", "a", 8080, "/"]],
  ["http://user:word@a:1/x?q=1#f", ["http", "a", 1, "/x"]],
  ["http://[::1]:4000/x", ["http", "::1", 4000, "/x"]],
  ["//a:443", ["https", "a", 443, null]],
];

for (const [url, parts] of urls) {
  test(`checkEntity splits the url ${url} into its parts`, () => {
    const { protocol, host, port, path, ...rest } = filled("services", { url });
    assert.deepEqual([protocol, host, port, path], parts);
    assert.ok(!("url" in rest));
  });
}

test("the port in a url takes precedence over the member port, and a url of null is ignored", () => {
  assert.equal(filled("services", { url: "http://a:1", port: 2, host: "b" }).port, 1);
  assert.equal(filled("services", { url: null, host: "b" }).host, "b");
});

test("checkEntity converts ids, also those in references, to lower case", () => {
  const route = filled("routes", {
    id: UUID.toUpperCase(),
    hosts: ["a"],
    service: { id: UUID.toUpperCase(), name: "x" },
  });
  assert.equal(route.id, UUID);
  assert.deepEqual(route.service, { id: UUID });
});

test("an unset strip_path becomes false in a gRPC route", () => {
  assert.equal(filled("routes", { protocols: ["grpc"], hosts: ["a"] }).strip_path, false);
});

test("checkEntity removes duplicate items of a set", () => {
  assert.deepEqual(filled("consumers", { username: "a", tags: ["x", "y", "x"] }).tags, ["x", "y"]);
});

test("cors accepts a single origin instead of a list", () => {
  assert.deepEqual(checkConfig("cors", { origins: "*" }).value?.origins, ["*"]);
});

const hashing: readonly (readonly [given: object, algorithm: string])[] = [
  [{}, "round-robin"],
  [{ hash_on: "none" }, "round-robin"],
  [{ hash_on: "ip" }, "consistent-hashing"],
  [{ hash_on: "ip", algorithm: null }, "consistent-hashing"],
  [{ hash_on: "ip", algorithm: "least-connections" }, "least-connections"],
];
for (const [given, algorithm] of hashing) {
  test(`an upstream with ${JSON.stringify(given)} uses the algorithm ${algorithm}`, () => {
    assert.equal(filled("upstreams", { name: "u", ...given }).algorithm, algorithm);
  });
}

test("rate-limiting accepts the policy cluster only if the entity is in a database", () => {
  const raw = { name: "rate-limiting", config: { minute: 1, policy: "cluster" } };
  const { value } = checkEntity("plugins", raw, { database: true });
  assert.equal(value?.config.policy, "cluster");
  assert.equal(checkEntity("plugins", raw).value, undefined);
});

test("checkEntity omits _comment and _ignore, and keeps _sluice", () => {
  const route = filled("routes", {
    paths: ["/a"],
    _comment: "x",
    _ignore: [1],
    _sluice: { namespace: "a", unavailable: null, priority: 0 },
  });
  assert.ok(!("_comment" in route) && !("_ignore" in route));
  assert.deepEqual(route._sluice, { namespace: "a", priority: 0 });
  const extras = { key_hash: "a".repeat(64), namespaces: ["a"] };
  assert.deepEqual(filled("keyauth_credentials", { consumer: { id: UUID }, _sluice: extras })._sluice, extras);
});

test("a plugin that is marked as unavailable may have an invalid config, which becomes empty", () => {
  const marked = { name: "rate-limiting", config: { minute: "x" }, _sluice: { unavailable: "minute is not a number" } };
  assert.deepEqual(filled("plugins", marked).config, {});
});

test("a plugin that is marked as unavailable may be unknown to this version, but needs a valid name; its config becomes empty", () => {
  const marked = { name: "key-atuh", config: { a: 1 }, _sluice: { unavailable: "no such plugin" } };
  const { name, config, _sluice } = filled("plugins", marked);
  assert.deepEqual([name, config, _sluice], ["key-atuh", {}, { unavailable: "no such plugin" }]);
  for (const name of ["", "x".repeat(65), 7, undefined])
    assert.notEqual(checkEntity("plugins", { ...marked, name }).violations, undefined);
});

/** Plugins that a newer version may have written, and why this version answers 503 for them (null: it refuses them). */
const newer: readonly (readonly [what: string, plugin: object, reason: RegExp | null])[] = [
  [
    "an unknown plugin",
    { name: "oauth2", config: { a: 1 } },
    /^plugin oauth2: name: plugin 'oauth2' not enabled: let an authorization server /,
  ],
  ["an unknown member of a config", { name: "key-auth", config: { identity: "x" } }, /config\.identity: unknown field/],
  ["an unknown value in a config", { name: "rate-limiting", config: { minute: 1, policy: "new" } }, /config\.policy: /],
  [
    "a config without a required member",
    { name: "rate-limiting", config: {} },
    /^plugin rate-limiting: at least one of /,
  ],
  ["a config that is not a record", { name: "key-auth", config: [] }, /config: expected a record/],
  ["an unknown member of the plugin", { name: "key-auth", group: { id: UUID } }, /^plugin key-auth: group: unknown/],
  ["an unknown member of a plugin that does not protect", { name: "cors", config: { a: 1 } }, null],
  ["an invalid reference", { name: "oauth2", service: "users" }, null],
  ["a plugin without a name", { config: {} }, null],
];
for (const [what, plugin, reason] of newer)
  test(`${what} is refused${reason ? "; if a newer version may have written it, the plugin answers 503" : ", even if a newer version may have written it"}`, () => {
    assert.notEqual(checkEntity("plugins", plugin).violations, undefined);
    const { value } = checkEntity("plugins", plugin, { closePlugins: true });
    if (reason === null) return assert.equal(value, undefined);
    assert.match(value?._sluice?.unavailable ?? "", reason);
  });

test("a reason that exceeds the maximum length of _sluice.unavailable is truncated", () => {
  const config = { ["x".repeat(3000)]: 1 };
  const { value } = checkEntity("plugins", { name: "key-auth", config }, { closePlugins: true });
  assert.ok((value?._sluice?.unavailable?.length ?? 0) > 500);
});

test("members called __proto__ and constructor are reported as unknown", () => {
  const raw = JSON.parse('{"host":"a","__proto__":{"port":1},"constructor":1}');
  const { violations } = checkEntity("services", raw);
  assert.deepEqual(violations, [
    { path: ["__proto__"], message: "unknown field" },
    { path: ["constructor"], message: "unknown field" },
  ]);
});

test("checkConfig accepts null for the config of every plugin except those that neededConfigs lists", () => {
  const needing = pluginNames().filter((name) => checkConfig(name, null).violations !== undefined);
  assert.deepEqual(needing.toSorted(), Object.keys(neededConfigs).toSorted());
});

test("a value that is not a record is refused with the message 'expected a record'", () => {
  for (const collection of collections) {
    for (const raw of [null, undefined, 1, "x", [], true]) {
      assert.deepEqual(checkEntity(collection, raw).violations, [{ path: [], message: "expected a record" }]);
    }
  }
});
