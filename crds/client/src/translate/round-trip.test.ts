import assert from "node:assert/strict";
import { test } from "node:test";
import { type CheckedEntity, type Collection, checkEntity, type Entities } from "@sluice/model";
import fc from "fast-check";
import type { Resource } from "../resource.ts";
import { credentialSecret } from "./secrets.ts";
import { type ResourceCollection, type ToResourceOptions, toResource } from "./to-resource.ts";
import { translate } from "./translate.ts";
import type { TranslateOptions } from "./translation.ts";

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,12}$/);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value);
const words = (from: fc.Arbitrary<string>) => fc.uniqueArray(from, { minLength: 1, maxLength: 3 });
const flag = fc.boolean();
const milliseconds = fc.integer({ min: 1, max: 2 ** 31 - 2 });
/** A name may hold anything beyond ASCII, dots and capitals. */
const name = fc.stringMatching(/^[A-Za-z0-9._~é😀-]{1,40}$/u);
const common = {
  id: fc.uuid(),
  created_at: fc.integer({ min: 0, max: 2 ** 40 - 1 }).map((time) => time % 10 ** 11),
  tags: maybe(words(word)),
};
const times = { ...common, updated_at: fc.integer({ min: 0, max: 2 ** 33 }) };

const arbitraries: { readonly [Name in Collection]: fc.Arbitrary<object> } = {
  services: fc.record({
    ...times,
    name: maybe(name),
    retries: fc.integer({ min: 0, max: 32_767 }),
    protocol: fc.constantFrom("http", "https"),
    host: word,
    port: fc.integer({ min: 0, max: 65_535 }),
    path: maybe(word.map((path) => `/${path}`)),
    connect_timeout: milliseconds,
    read_timeout: milliseconds,
    write_timeout: milliseconds,
    enabled: flag,
  }),
  routes: fc.record({
    ...times,
    name: maybe(name),
    protocols: fc.constantFrom(["https"], ["http", "https"], ["grpcs"]),
    hosts: words(word),
    paths: maybe(words(word.map((path) => `/${path}`))),
    headers: maybe(fc.dictionary(fc.stringMatching(/^[Xx]-[a-z_]{1,9}$/), words(word), { minKeys: 1, maxKeys: 3 })),
    snis: maybe(words(word)),
    https_redirect_status_code: fc.constantFrom(426, 301),
    preserve_host: flag,
    regex_priority: fc.integer({ min: -9, max: 9 }),
    path_handling: fc.constantFrom("v0", "v1"),
    request_buffering: flag,
    response_buffering: flag,
    service: maybe(fc.constant({ id: "11111111-1111-4111-8111-111111111111" })),
  }),
  plugins: fc.record({
    ...times,
    name: fc.constant("rate-limiting"),
    instance_name: maybe(name),
    service: maybe(fc.constant({ id: "11111111-1111-4111-8111-111111111111" })),
    route: maybe(fc.constant({ id: "22222222-2222-4222-8222-222222222222" })),
    consumer: maybe(fc.constant({ id: "33333333-3333-4333-8333-333333333333" })),
    config: fc.record({
      minute: fc.integer({ min: 1, max: 9 }),
      policy: fc.constantFrom("local", "redis"),
      redis: fc.record({ host: word, port: fc.integer({ min: 0, max: 9999 }), password: maybe(word), ssl: flag }),
      hide_client_headers: flag,
    }),
    protocols: fc.constantFrom(["http"], ["grpc", "grpcs", "http", "https"]),
    enabled: flag,
  }),
  consumers: fc
    .record({ ...times, username: maybe(name), custom_id: maybe(word) })
    .filter(({ username, custom_id }) => username !== null || custom_id !== null),
  keyauth_credentials: fc.record({
    ...common,
    consumer: fc.constant({ id: "33333333-3333-4333-8333-333333333333" }),
    key: fc.string({ minLength: 1, maxLength: 40, unit: "grapheme-ascii" }),
    ttl: maybe(fc.integer({ min: 0, max: 1000 })),
  }),
};

const filled = <Name extends Collection>(collection: Name): fc.Arbitrary<CheckedEntity<Name>> =>
  arbitraries[collection].map((raw) => {
    const { value, violations } = checkEntity(collection, raw);
    assert.ok(value, JSON.stringify([violations, raw]));
    return value;
  });

const places = new Map([
  ["11111111-1111-4111-8111-111111111111", "a-service"],
  ["22222222-2222-4222-8222-222222222222", "a-route"],
  ["33333333-3333-4333-8333-333333333333", "a-consumer"],
]);
const ids = new Map([...places].map(([id, resource]) => [resource, id]));

const writing: ToResourceOptions = {
  namespace: "home",
  place: (_, id) => ({ namespace: "home", name: places.get(id) ?? "missing" }),
};

const reading = (secrets: readonly Resource[] = []): TranslateOptions => ({
  homeNamespace: "home",
  resolve: (_, __, resource) => ids.get(resource),
  read: (_, __, resource) => secrets.find(({ metadata }) => metadata.name === resource),
  audience: "admin",
});

/** What a server or a file would give back. */
function stored<Name extends ResourceCollection>(
  collection: Name,
  entity: Entities[Name],
  options: ToResourceOptions = writing,
): Resource {
  const { value, violations } = toResource(collection, entity, options);
  assert.ok(value, JSON.stringify(violations));
  return JSON.parse(JSON.stringify(value));
}

for (const collection of ["services", "routes", "plugins", "consumers"] as const) {
  test(`${collection} come back from their resources as they went in, with their ids`, () => {
    fc.assert(
      fc.property(filled(collection), (entity) => {
        const [back, ...more] = translate(stored(collection, entity as never), reading());
        assert.deepEqual(back?.violations, []);
        assert.deepEqual(back?.entity, entity);
        assert.deepEqual(more, []);
      }),
      { numRuns: 60 },
    );
  });

  test(`${collection} take the place of a resource that was written before and lose nothing of theirs`, () => {
    fc.assert(
      fc.property(filled(collection), filled(collection), (before, entity) => {
        const previous = stored(collection, before as never);
        const resource = stored(collection, entity as never, { ...writing, previous });
        assert.equal(resource.metadata.name, previous.metadata.name);
        assert.deepEqual(translate(resource, reading())[0]?.entity, entity);
      }),
      { numRuns: 40 },
    );
  });
}

test("a credential comes back from its consumer and its Secret with key, id, tags, ttl and time", () => {
  const consumer = { username: "demo", id: "33333333-3333-4333-8333-333333333333" };
  const { value } = checkEntity("consumers", consumer);
  assert.ok(value);
  fc.assert(
    fc.property(filled("keyauth_credentials"), (entity) => {
      const { secret, entry } = credentialSecret(entity, { namespace: "home" });
      const resource = stored("consumers", value, { ...writing, keyAuth: [entry] });
      assert.deepEqual(translate(resource, reading([secret]))[1]?.entity, entity);
    }),
    { numRuns: 60 },
  );
});
