import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deviceTokenFacts } from "../../../../test/plugins/device-token.ts";
import { ellipticPair, firstKeyPair, secondKeyPair } from "../../../../tools/programs/pairs.ts";
import { randomCases } from "../../../../tools/stages/random-cases.ts";
import { type Collection, collections, entities } from "../entities/index.ts";
import { pluginNames, registerPlugins } from "../plugins/index.ts";
import { schemaViolation } from "./error.ts";
import { checkEntity } from "./index.ts";

registerPlugins([deviceTokenFacts]);

const UUID = "fd02801f-0957-4a15-a55a-c8d9606f30b5";
const anything = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)));

/**
 * A record with some members that entities of the collection have, and some that they may not have, such as
 * `__proto__`. The values are arbitrary; some have the right type.
 */
const nearly = (collection: Collection) => {
  const members = [...Object.keys(entities[collection].schema.properties), "url", "_sluice", "__proto__", "x"];
  const plausible = fc.constantFrom<unknown>(
    null,
    "/a",
    "a",
    ["/a"],
    ["GET"],
    { id: UUID },
    { a: ["b"] },
    true,
    5,
    UUID,
    ...pluginNames(),
  );
  const entries = fc.array(fc.tuple(fc.constantFrom(...members), fc.oneof(plausible, anything)), { maxLength: 12 });
  return entries.map((pairs) => Object.fromEntries(pairs));
};

for (const collection of collections) {
  test(`checking any JSON as an item of ${collection} never throws, leaves the JSON unchanged, and returns violations or an entity that a second check does not change`, () => {
    fc.assert(
      fc.property(fc.oneof(anything, nearly(collection)), (raw) => {
        const before = JSON.stringify(raw);
        const { value, violations } = checkEntity(collection, raw);
        assert.equal(JSON.stringify(raw), before, "the input is unchanged");
        if (violations === undefined) return assert.deepEqual(checkEntity(collection, value), { value });
        assert.ok(violations.length > 0);
        assert.match(schemaViolation(violations).message, /^(?:\d+ )?schema violations? \(/);
        assert.doesNotThrow(() => JSON.stringify(schemaViolation(violations)));
      }),
      { numRuns: randomCases(150) },
    );
  });
}

const name = fc.stringMatching(/^[a-z][a-z0-9.-]{0,8}[a-z0-9]$/);
const path = fc
  .array(fc.stringMatching(/^[a-z0-9]{1,6}$/), { maxLength: 3 })
  .map((segments) => `/${segments.join("/")}`);
const host = name.map((label) => label.replaceAll(".", "")).filter((label) => /[a-z][a-z0-9-]*[a-z0-9]$/.test(label));
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });

const alternative = fc.constantFrom({}, { cert_alt: ellipticPair.cert, key_alt: ellipticPair.key });

const valid: { readonly [Name in Collection]: fc.Arbitrary<Record<string, unknown>> } = {
  certificates: fc
    .tuple(fc.constantFrom(firstKeyPair, secondKeyPair), alternative, optional(fc.array(name, { maxLength: 5 })))
    .map(([main, other, tags]) => ({ ...main, ...other, tags })),
  ca_certificates: fc.record({ cert: fc.constantFrom(firstKeyPair.cert, secondKeyPair.cert) }),
  snis: fc.record({ name: host, certificate: fc.constant({ id: UUID }) }),
  upstreams: fc.record({
    name: host,
    algorithm: optional(fc.constantFrom("round-robin", "least-connections", "consistent-hashing", "latency")),
    hash_on: fc.constantFrom("none", "ip", "consumer", "path"),
    slots: optional(fc.integer({ min: 10, max: 65_536 })),
    healthchecks: optional(
      fc.record({
        threshold: fc.double({ min: 0, max: 100, noNaN: true }),
        active: fc.record({ http_path: path, healthy: fc.record({ interval: fc.nat(60) }) }),
      }),
    ),
  }),
  targets: fc.record({
    target: fc.oneof(
      host,
      fc.tuple(host, fc.integer({ min: 0, max: 65_535 })).map((both) => both.join(":")),
      fc.ipV4(),
      fc.ipV6(),
    ),
    weight: optional(fc.integer({ min: 0, max: 65_535 })),
    upstream: fc.constant({ id: UUID }),
  }),
  services: fc.record({
    name: optional(name),
    host,
    port: optional(fc.integer({ min: 0, max: 65_535 })),
    path: optional(path),
    retries: optional(fc.integer({ min: 0, max: 32_767 })),
  }),
  routes: fc.record({
    name: optional(name),
    paths: fc.array(path, { minLength: 1, maxLength: 4 }),
    methods: optional(fc.array(fc.constantFrom("GET", "POST"), { minLength: 1 })),
    service: optional(fc.constant({ id: UUID })),
    strip_path: optional(fc.boolean()),
  }),
  consumers: fc.record({ username: name, custom_id: optional(name), tags: optional(fc.array(name, { maxLength: 5 })) }),
  keyauth_credentials: fc.record({ key: name, consumer: fc.constant({ id: UUID }), ttl: optional(fc.nat(1000)) }),
  jwt_secrets: fc.record({ key: name, consumer: fc.constant({ id: UUID }), secret: name }),
  basicauth_credentials: fc.record({ username: name, password: name, consumer: fc.constant({ id: UUID }) }),
  hmacauth_credentials: fc.record({ username: name, consumer: fc.constant({ id: UUID }), secret: name }),
  mtls_auth_credentials: fc.record({ subject_name: name, consumer: fc.constant({ id: UUID }) }),
  acls: fc.record({ group: name, consumer: fc.constant({ id: UUID }) }),
  vaults: fc.record({
    prefix: fc.stringMatching(/^[a-z][a-z0-9-]{0,9}[0-9]$/),
    name: fc.constant("env"),
    description: optional(name),
    config: optional(fc.record({ prefix: optional(fc.constantFrom("APP_", "app-")) })),
  }),
  graphql_documents: fc.record({ name, manifest: fc.constantFrom("{}", '{"a":"{ a }"}') }),
  consumer_groups: fc.record({ name, tags: optional(fc.array(name, { maxLength: 5 })) }),
  consumer_group_consumers: fc.record({
    consumer: fc.constant({ id: UUID }),
    consumer_group: fc.constant({ id: UUID }),
  }),
  plugin_credentials: fc.record({
    plugin: fc.constant(deviceTokenFacts.name),
    key: fc.string({ minLength: 4, maxLength: 64 }),
    consumer: fc.constant({ id: UUID }),
    config: fc.record({ model: optional(fc.constantFrom("any", "x1")), pin: optional(name) }),
  }),
  plugins: fc.record({
    name: fc.constant("rate-limiting"),
    instance_name: optional(name),
    config: fc.record({ minute: fc.integer({ min: 1, max: 100 }), hour: fc.integer({ min: 100, max: 1000 }) }),
  }),
};

for (const collection of collections) {
  test(`checking an entity of ${collection} that has its defaults already does not change it`, () => {
    fc.assert(
      fc.property(valid[collection], (raw) => {
        const once = checkEntity(collection, raw, { now: 5 });
        assert.equal(once.violations, undefined);
        assert.deepEqual(checkEntity(collection, once.value, { now: 9 }), once);
        assert.deepEqual(checkEntity(collection, JSON.parse(JSON.stringify(once.value))), once);
      }),
      { numRuns: randomCases(80) },
    );
  });
}
