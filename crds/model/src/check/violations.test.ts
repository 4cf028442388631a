import assert from "node:assert/strict";
import { test } from "node:test";
import { makeAuthority } from "../../../../tools/programs/certificates.ts";
import { ellipticPair, firstKeyPair, secondKeyPair } from "../../../../tools/programs/pairs.ts";
import type { Collection } from "../entities/index.ts";
import { checkEntity } from "./index.ts";

const leaf = await (await makeAuthority()).issue({ name: "leaf", usage: "server" });
const UUID = "fd02801f-0957-4a15-a55a-c8d9606f30b5";
const MISSING = "required field missing";
const PRIORITY = "_sluice.priority: value should be between 0 and 2147483647";
const NULL = "value must be null";
const ONE_BLOCK = "expected one block that begins with -----BEGIN CERTIFICATE-----, and no others";
const given = (name: string) => `failed conditional validation given value of field '${name}'`;
const limits = (config: object) => ({ name: "rate-limiting", config });

/** Entities as given, each with its collection and with `path: message` for every violation. */
const cases: readonly (readonly [collection: Collection, raw: unknown, ...faults: string[]])[] = [
  // Types
  ["services", {}, `host: ${MISSING}`],
  ["services", { host: null }, `host: ${MISSING}`],
  ["services", { host: 1 }, "host: expected a string"],
  ["services", { host: "" }, "host: length must be at least 1"],
  ["services", { host: "a", port: "80" }, "port: expected an integer"],
  ["services", { host: "a", port: 1.5 }, "port: expected an integer"],
  ["services", { host: "a", port: Number.NaN }, "port: expected an integer"],
  ["services", { host: "a", enabled: "true" }, "enabled: expected a boolean"],
  ["services", { host: "a", tags: "x" }, "tags: expected a set"],
  ["services", { host: "a", tags: {} }, "tags: expected a set"],
  ["services", { host: "a", client_certificate: "x", protocol: "https" }, "client_certificate: expected a record"],
  ["routes", { paths: "/a" }, "paths: expected an array"],
  ["routes", { paths: ["/a"], headers: [] }, "headers: expected a map"],
  ["routes", { paths: ["/a"], headers: { a: "b" } }, "headers.a: expected an array"],
  // A value that JavaScript cannot convert to a string.
  ["vaults", { name: { toString: null }, prefix: "my" }, "name: expected a string"],
  ["graphql_documents", {}, `manifest: ${MISSING}`, `name: ${MISSING}`],
  ["graphql_documents", { name: "web", manifest: "a".repeat(1_000_001) }, "manifest: length must be at most 1000000"],
  ["plugins", { name: { toString: null }, _sluice: { unavailable: "x" } }, "name: expected a string"],
  ["plugins", limits({ minute: "5" }), "config.minute: expected a number"],
  ["plugins", limits({ minute: 5, redis: "x" }), "config.redis: expected a record"],
  ["plugins", { name: "cors", config: [] }, "config: expected a record"],
  ["plugins", { name: "cors", config: "x" }, "config: expected a record"],
  // Values
  ["services", { host: "a", port: 65_536 }, "port: value should be between 0 and 65535"],
  ["services", { host: "a", retries: -1 }, "retries: value should be between 0 and 32767"],
  ["services", { host: "a", read_timeout: 0 }, "read_timeout: value should be between 1 and 2147483646"],
  [
    "services",
    { host: "a", protocol: "ftp" },
    "protocol: expected one of: grpc, grpcs, http, https, tcp, tls, tls_passthrough, udp",
  ],
  ["services", { host: "a".repeat(256) }, "host: length must be at most 255"],
  ["services", { host: "a", id: "x" }, "id: expected a valid UUID"],
  ["services", { host: "a", id: "" }, "id: expected a valid UUID"],
  [
    "services",
    { host: "a", tags: ["a", null, "b,c", 1] },
    `tags.1: ${MISSING}`,
    "tags.3: expected a string",
    badTag("b,c", 2),
  ],
  ["routes", { paths: ["/a"], protocols: [] }, "protocols: length must be at least 1"],
  [
    "routes",
    { paths: ["/a"], https_redirect_status_code: 300 },
    "https_redirect_status_code: expected one of: 426, 301, 302, 307, 308",
  ],
  ["routes", { paths: [""] }, "paths.0: length must be at least 1"],
  ["services", { host: "a", upstream_headers: {} }, "upstream_headers: expected an array"],
  [
    "services",
    { host: "a", upstream_headers: [{ name: "X-A" }, { value: "v" }, { name: "X-B", value: "v", secretRef: {} }] },
    "upstream_headers.2.secretRef: unknown field",
    `upstream_headers.0.value: ${MISSING}`,
    `upstream_headers.1.name: ${MISSING}`,
  ],
  [
    "services",
    {
      host: "a",
      upstream_headers: [
        { name: "X-A", value: "v" },
        { name: "x_a", value: "w" },
        { name: "X-B", value: "" },
        { name: "X-C", value: "v".repeat(4097) },
      ],
    },
    "upstream_headers.2.value: length must be at least 1",
    "upstream_headers.3.value: length must be at most 4096",
    "upstream_headers.1.name: the list already has a header with this name",
  ],
  [
    "services",
    { host: "a", upstream_headers: Array.from({ length: 17 }, (_, n) => ({ name: `X-${n}`, value: "v" })) },
    "upstream_headers: length must be at most 16",
  ],
  ["plugins", limits({ minute: 0 }), "config.minute: value must be greater than 0"],
  // Unknown members
  ["services", { host: "a", foo: 1, bar: null }, "foo: unknown field", "bar: unknown field"],
  ["consumers", { username: "a", _sluice: {} }, "_sluice: unknown field"],
  ["keyauth_credentials", { key: "k", consumer: { id: UUID }, updated_at: 1 }, "updated_at: unknown field"],
  ["plugins", { name: "cors", config: { x: 1 } }, "config.x: unknown field"],
  ["plugins", limits({ minute: 1, redis: { x: 1 } }), "config.redis.x: unknown field"],
  // References
  ["routes", { paths: ["/a"], service: "users" }, "service: expected a record"],
  ["routes", { paths: ["/a"], service: {} }, "service.id: missing primary key"],
  ["routes", { paths: ["/a"], service: { name: "users" } }, "service.id: missing primary key"],
  ["routes", { paths: ["/a"], service: { id: null } }, `service.id: ${MISSING}`],
  ["routes", { paths: ["/a"], service: { id: "x" } }, "service.id: expected a valid UUID"],
  // Services
  ["services", { url: "" }, "url: length must be at least 1"],
  ["services", { url: " " }, "url: length must be at least 1"],
  ["services", { url: 5 }, "url: expected a string"],
  ["services", { url: "users" }, `host: ${MISSING}`, "path: should start with: /"],
  ["services", { url: "http://a:x" }, "port: expected an integer"],
  ["services", { url: "http://" }, `host: ${MISSING}`],
  [
    "services",
    { url: "ftp://a" },
    "protocol: expected one of: grpc, grpcs, http, https, tcp, tls, tls_passthrough, udp",
  ],
  ["services", { host: "a", protocol: "grpc", path: "/a" }, `path: ${NULL}`, `@entity: ${given("protocol")}`],
  ["services", { url: "grpcs://a:50051/b" }, `path: ${NULL}`, `@entity: ${given("protocol")}`],
  [
    "services",
    { host: "a", protocol: "grpc", tls_verify: true },
    `tls_verify: ${NULL}`,
    `@entity: ${given("protocol")}`,
  ],
  [
    "services",
    {
      url: "https://a",
      tls_verify: true,
      tls_verify_depth: 2,
      ca_certificates: [UUID, "x"],
      client_certificate: { id: UUID },
    },
    "ca_certificates.1: expected a valid UUID",
  ],
  ["services", { host: "a", tls_verify: false }, `tls_verify: ${NULL}`, `@entity: ${given("protocol")}`],
  [
    "services",
    { host: "a", client_certificate: { id: UUID } },
    `client_certificate: ${NULL}`,
    `@entity: ${given("protocol")}`,
  ],
  ["services", { host: "a", ca_certificates: [UUID] }, `ca_certificates: ${NULL}`, `@entity: ${given("protocol")}`],
  // Routes
  ["routes", {}, `@entity: ${mustSet("'methods', 'hosts', 'headers', 'paths', 'snis'", "https")}`],
  ["routes", { paths: [] }, `@entity: ${mustSet("'methods', 'hosts', 'headers', 'paths', 'snis'", "https")}`],
  ["routes", { protocols: ["http"] }, `@entity: ${mustSet("'methods', 'hosts', 'headers', 'paths'", "http")}`],
  ["routes", { protocols: ["grpc"] }, `@entity: ${mustSet("'hosts', 'headers', 'paths'", "grpc")}`],
  ["routes", { protocols: ["grpcs"] }, `@entity: ${mustSet("'hosts', 'headers', 'paths', 'snis'", "grpcs")}`],
  [
    "routes",
    { protocols: ["http"], paths: ["/a"], snis: ["a"] },
    "snis: length must be 0",
    "@entity: 'snis' can only be set when 'protocols' is 'grpcs', 'https', 'tls' or 'tls_passthrough'",
  ],
  [
    "routes",
    { protocols: ["http", "grpc"], paths: ["/a"] },
    "protocols: these sets are mutually exclusive: ('http', 'https'), ('grpc', 'grpcs')",
  ],
  [
    "routes",
    { protocols: ["grpc"], hosts: ["a"], strip_path: true, methods: ["POST"] },
    "methods: cannot set 'methods' when 'protocols' is 'grpc' or 'grpcs'",
    "strip_path: cannot set 'strip_path' when 'protocols' is 'grpc' or 'grpcs'",
  ],
  [
    "routes",
    { paths: ["/a"], sources: [{ ip: "10.0.0.1" }] },
    "sources: cannot set 'sources' when 'protocols' is 'http' or 'https'",
  ],
  [
    "routes",
    { paths: ["/a"], sources: [{}] },
    "sources: cannot set 'sources' when 'protocols' is 'http' or 'https'",
    "sources.0.@entity: at least one of these fields must be non-empty: 'ip', 'port'",
  ],
  [
    "routes",
    { paths: ["/a"], protocols: ["http", "tcp"] },
    "protocols: these sets are mutually exclusive: ('http', 'https'), ('tcp', 'tls', 'udp')",
  ],
  [
    "routes",
    { paths: ["/a"], headers: { Host: ["x"] } },
    "headers: cannot contain 'host' header, which must be specified in the 'hosts' attribute",
  ],
  ["routes", { paths: ["/a"], headers: { a: ["~*("] } }, "headers.a.0: not a valid regex: ( (missing closing ): `(`)"],
  [
    "routes",
    { paths: ["/a"], _sluice: { namespace: 1, z: 1 } },
    "_sluice.namespace: expected a string",
    "_sluice.z: unknown field",
  ],
  ["routes", { paths: ["/a"], _sluice: [] }, "_sluice: expected a record"],
  ["routes", { paths: ["/a"], _sluice: { priority: -1 } }, PRIORITY],
  ["routes", { paths: ["/a"], _sluice: { priority: 2 ** 31 } }, PRIORITY],
  ["routes", { paths: ["/a"], _sluice: { priority: 1.5 } }, "_sluice.priority: expected an integer"],
  [
    "routes",
    { hosts: ["a.com", "b.com"], _sluice: { priority: 0 } },
    "hosts: expected at most one host, because '_sluice.priority' is set",
  ],
  // Consumers and credentials
  ["consumers", {}, "@entity: at least one of these fields must be non-empty: 'custom_id', 'username'"],
  ["keyauth_credentials", {}, `consumer: ${MISSING}`, `key: ${MISSING}`],
  [
    "keyauth_credentials",
    { key: "k", consumer: { id: UUID }, ttl: -1 },
    "ttl: value should be between 0 and 100000000",
  ],
  [
    "keyauth_credentials",
    { consumer: { id: UUID }, _sluice: { key_hash: "x", namespaces: [1] } },
    "_sluice.key_hash: expected a SHA-256 in lower-case hex",
    "_sluice.namespaces.0: expected a string",
    `key: ${MISSING}`,
  ],
  // Plugins
  ["plugins", {}, `name: ${MISSING}`],
  ["plugins", { name: 1 }, "name: expected a string"],
  [
    "plugins",
    { name: "x" },
    "name: plugin 'x' not enabled: Sluice has acl, basic-auth, bot-detection, compression, concurrency-limiting, correlation-id, cors, datadog, file-log, forward-auth, graphql, grpc-web, hmac-auth, http-log, ip-restriction, jwt, key-auth, ldap-auth, loggly, mtls-auth, openid-connect, opentelemetry, prometheus, proxy-cache, rate-limiting, redirect, request-mirror, request-redirect, request-size-limiting, request-termination, request-transformer, request-validator, response-ratelimiting, response-transformer, session, standard-webhooks, statsd, syslog, tcp-log, udp-log, zipkin; use one of these, or load a plugin of your own with SLUICE_PLUGINS",
  ],
  ["plugins", { name: "key-auth", consumer: { id: UUID } }, `consumer: ${NULL}`],
  ["plugins", { name: "cors", consumer: { id: UUID } }, `consumer: ${NULL}`],
  ["plugins", { name: "key-auth", config: { key_names: [] } }, "config.key_names: length must be at least 1"],
  ["plugins", { name: "cors", config: { methods: ["get"] } }, `config.methods.0: expected one of: ${methods()}`],
  ["plugins", limits({}), `@entity: ${onePeriod()}`],
  [
    "plugins",
    limits({ second: 20, hour: 10 }),
    "config: The limit for hour(10.0) cannot be lower than the limit for second(20.0)",
  ],
  [
    "plugins",
    limits({ minute: 1, policy: "cluster" }),
    "config.policy: expected one of: local, redis, fleet (cluster needs the database mode)",
  ],
  ["plugins", limits({ minute: 1, policy: "x" }), "config.policy: expected one of: local, cluster, redis, fleet"],
  [
    "plugins",
    limits({ minute: 1, policy: "redis" }),
    `config.redis.host: ${MISSING}`,
    `@entity: ${given("config.policy")}`,
  ],
  [
    "plugins",
    limits({ minute: 1, limit_by: "header" }),
    `config.header_name: ${MISSING}`,
    `@entity: ${given("config.limit_by")}`,
  ],
  [
    "plugins",
    limits({ minute: 1, limit_by: "path" }),
    `config.path: ${MISSING}`,
    `@entity: ${given("config.limit_by")}`,
  ],
  ["plugins", limits({ minute: 1, sync_rate: 1 }), "config: sync_rate can only be used with the redis policy"],
  [
    "plugins",
    limits({ minute: 1, policy: "redis", redis: { host: "a" }, sync_rate: 0.01 }),
    "config: sync_rate must be greater than 0.02, or -1 to disable",
  ],
  // Certificates and SNIs
  ["ca_certificates", {}, `cert: ${MISSING}`],
  ["ca_certificates", { cert: "x" }, "cert: invalid certificate: expected certificates in PEM"],
  [
    "ca_certificates",
    { cert: firstKeyPair.cert + secondKeyPair.cert },
    "@entity: please submit only one certificate at a time",
  ],
  ...["X509 CERTIFICATE", "TRUSTED CERTIFICATE", "PRIVATE KEY"].flatMap((label) =>
    [
      secondKeyPair.cert.replaceAll(" CERTIFICATE-----", ` ${label}-----`) + firstKeyPair.cert,
      firstKeyPair.cert + secondKeyPair.cert.replaceAll(" CERTIFICATE-----", ` ${label}-----`),
    ].map((cert): readonly [Collection, unknown, string] => ["ca_certificates", { cert }, `@entity: ${ONE_BLOCK}`]),
  ),
  ["ca_certificates", { cert: `${firstKeyPair.cert}-----BEGIN CERTIFICATE-----\nMII` }, `@entity: ${ONE_BLOCK}`],
  ["ca_certificates", { cert: `# our root\n${firstKeyPair.cert}` }],
  [
    "ca_certificates",
    { cert: leaf.certificate },
    '@entity: certificate does not appear to be a CA because it is missing the "CA" basic constraint',
  ],
  ["ca_certificates", { cert: firstKeyPair.cert, _sluice: { namespaces: [] } }, "_sluice.namespaces: unknown field"],
  ["certificates", {}, `cert: ${MISSING}`, `key: ${MISSING}`],
  ["certificates", { cert: firstKeyPair.cert, key: secondKeyPair.key }, "@entity: certificate does not match key"],
  [
    "certificates",
    { cert: "x", key: "top secret" },
    "cert: invalid certificate: expected certificates in PEM",
    "key: invalid key: expected a private key in PEM, not encrypted",
  ],
  ["certificates", { ...firstKeyPair, cert_alt: ellipticPair.cert }, `@entity: ${together("'cert_alt', 'key_alt'")}`],
  [
    "certificates",
    { ...firstKeyPair, cert_alt: ellipticPair.cert, key_alt: secondKeyPair.key },
    "@entity: alternative certificate does not match key",
  ],
  [
    "certificates",
    { ...firstKeyPair, cert_alt: secondKeyPair.cert, key_alt: secondKeyPair.key },
    "@entity: certificate and alternative certificate need to have different type (e.g. RSA and ECDSA), the provided " +
      "certificates were both of the same type",
  ],
  ["snis", { name: "a.example" }, `certificate: ${MISSING}`],
  ["snis", { name: "a.*.b", certificate: { id: UUID } }, "name: wildcard must be leftmost or rightmost character"],
  // Several violations in one entity
  [
    "services",
    { name: "a b", port: "x", path: "a", tags: [1], foo: 1 },
    "foo: unknown field",
    `host: ${MISSING}`,
    "port: expected an integer",
    "tags.0: expected a string",
    "name: invalid value 'a b': the only accepted ascii characters are alphanumerics or ., -, _, and ~",
    "path: should start with: /",
  ],
];

function badTag(tag: string, index: number): string {
  return `tags.${index}: invalid tag '${tag}': expected printable ascii (except \`,\` and \`/\`) or valid utf-8 sequences`;
}

function together(names: string): string {
  return `all or none of these fields must be set: ${names}`;
}

function mustSet(names: string, protocol: string): string {
  return `must set one of ${names} when 'protocols' is '${protocol}'`;
}

function methods(): string {
  return "GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS, TRACE, CONNECT, *";
}

function onePeriod(): string {
  const names = ["second", "minute", "hour", "day", "month", "year"].map((period) => `'config.${period}'`);
  return `at least one of these fields must be non-empty: ${names.join(", ")}`;
}

for (const [collection, raw, ...faults] of cases) {
  test(`checkEntity reports ${faults.length === 0 ? "no" : "every"} violation of ${collection} ${JSON.stringify(raw).slice(0, 100)}`, () => {
    const { violations = [] } = checkEntity(collection, raw);
    assert.deepEqual(violations.map(({ path, message }) => `${path.join(".")}: ${message}`).sort(), faults.sort());
  });
}
