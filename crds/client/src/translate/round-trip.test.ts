import assert from "node:assert/strict";
import { test } from "node:test";
import { type CheckedEntity, type Collection, checkEntity, type Entities } from "@sluice/model";
import fc from "fast-check";
import type { Resource } from "../resource.ts";
import { CERTIFICATE, CONSUMER, ROUTE, SERVICE, UPSTREAM } from "./example.ts";
import { credentialSecret } from "./secrets.ts";
import { elliptic, first } from "./testing-pairs.ts";
import { certificateSecret } from "./tls-secrets.ts";
import { type ResourceCollection, type ToResourceOptions, toResource } from "./to-resource.ts";
import { translate } from "./translate.ts";
import type { TranslateOptions } from "./translation.ts";

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,12}$/);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value);
const words = (from: fc.Arbitrary<string>) => fc.uniqueArray(from, { minLength: 1, maxLength: 3 });
/** A host name that no address can be mistaken for. */
const host = fc.stringMatching(/^[a-z][a-z0-9]{0,9}(\.[a-z]{1,5})?$/);
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

const sections = fc.record({
  active: fc.record({
    type: fc.constantFrom("http", "https", "tcp"),
    http_path: word.map((path) => `/${path}`),
    headers: maybe(fc.dictionary(fc.stringMatching(/^[Xx]-[a-z_]{1,9}$/), words(word), { minKeys: 1, maxKeys: 3 })),
    healthy: fc.record({ interval: fc.integer({ min: 0, max: 9 }), successes: fc.integer({ min: 0, max: 9 }) }),
  }),
  passive: fc.record({ unhealthy: fc.record({ http_statuses: fc.constantFrom([429, 500, 503], [500]) }) }),
  threshold: fc.integer({ min: 0, max: 100 }),
});
const certificateReference = maybe(fc.constant({ id: CERTIFICATE }));

/** Entities before they are filled. */
const arbitraries: { readonly [Name in Collection]: fc.Arbitrary<object> } = {
  certificates: fc
    .record({
      ...times,
      main: fc.constant(first),
      alternative: fc.constantFrom({}, { cert_alt: elliptic.cert, key_alt: elliptic.key }),
    })
    .map(({ main, alternative, ...members }) => ({ ...members, ...main, ...alternative })),
  snis: fc.record({ ...times, name: host, certificate: fc.constant({ id: CERTIFICATE }) }),
  upstreams: fc.record({
    ...times,
    name: host,
    algorithm: fc.constantFrom("round-robin", "consistent-hashing", "least-connections"),
    hash_on: fc.constantFrom("none", "ip", "consumer"),
    slots: fc.integer({ min: 10, max: 65_536 }),
    healthchecks: sections,
    host_header: maybe(word),
    client_certificate: certificateReference,
    use_srv_name: flag,
  }),
  targets: fc.record({
    ...common,
    created_at: fc.double({ min: 0, max: 2 ** 33, noNaN: true }),
    updated_at: fc.double({ min: 0, max: 2 ** 33, noNaN: true }),
    upstream: fc.constant({ id: UPSTREAM }),
    target: fc.tuple(host, fc.integer({ min: 0, max: 65_535 })).map((both) => both.join(":")),
    weight: fc.integer({ min: 0, max: 65_535 }),
  }),
  services: fc
    .record({
      ...times,
      name: maybe(name),
      retries: fc.integer({ min: 0, max: 32_767 }),
      protocol: fc.constantFrom("http", "https"),
      client_certificate: certificateReference,
      host: word,
      port: fc.integer({ min: 0, max: 65_535 }),
      path: maybe(word.map((path) => `/${path}`)),
      connect_timeout: milliseconds,
      read_timeout: milliseconds,
      write_timeout: milliseconds,
      enabled: flag,
    })
    .map((service) => (service.protocol === "https" ? service : { ...service, client_certificate: null })),
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
    service: maybe(fc.constant({ id: SERVICE })),
  }),
  plugins: fc.record({
    ...times,
    name: fc.constant("rate-limiting"),
    instance_name: maybe(name),
    service: maybe(fc.constant({ id: SERVICE })),
    route: maybe(fc.constant({ id: ROUTE })),
    consumer: maybe(fc.constant({ id: CONSUMER })),
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
    consumer: fc.constant({ id: CONSUMER }),
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
  [SERVICE, "a-service"],
  [ROUTE, "a-route"],
  [CONSUMER, "a-consumer"],
  [CERTIFICATE, "a-certificate"],
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

for (const collection of ["upstreams", "services", "routes", "plugins", "consumers"] as const) {
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
  const consumer = { username: "demo", id: CONSUMER };
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

test("targets come back from their upstream as they went in, with ids and times, and stay when they are not given", () => {
  fc.assert(
    fc.property(
      filled("upstreams"),
      fc.uniqueArray(filled("targets"), { maxLength: 5, selector: ({ target }) => target }),
      (entity, given) => {
        const upstream = { ...entity, id: UPSTREAM };
        const resource = stored("upstreams", upstream, { ...writing, targets: given });
        const read = (from: Resource) => translate(from, reading()).map((item) => item.entity);
        assert.deepEqual(read(resource), [upstream, ...given]);
        const renamed = { ...upstream, name: "renamed" };
        assert.deepEqual(read(stored("upstreams", renamed, { ...writing, previous: resource })), [renamed, ...given]);
        const emptied = stored("upstreams", upstream, { ...writing, previous: resource, targets: [] });
        assert.deepEqual(read(emptied), [upstream]);
      },
    ),
    { numRuns: 60 },
  );
});

test("a certificate comes back from its resource and its Secret, and its SNIs with it", () => {
  fc.assert(
    fc.property(
      filled("certificates"),
      fc.uniqueArray(filled("snis"), { maxLength: 4, selector: ({ name }) => name }),
      (entity, snis) => {
        const certificate = { ...entity, id: CERTIFICATE };
        const { secret, secretRef } = certificateSecret(certificate, { namespace: "home" });
        const resource = stored("certificates", certificate, { ...writing, snis, secretRef });
        const read = (from: Resource) => translate(from, reading([secret])).map((item) => item.entity);
        assert.deepEqual(read(resource), [certificate, ...snis]);
        assert.doesNotMatch(JSON.stringify(resource), /BEGIN/);
        const tagged = { ...certificate, tags: ["new"] };
        assert.deepEqual(read(stored("certificates", tagged, { ...writing, previous: resource })), [tagged, ...snis]);
      },
    ),
    { numRuns: 40 },
  );
});
