/** Arbitrary entities for round-trip property tests. */
import { type Collection, registerPlugins } from "@sluice/model";
import fc from "fast-check";
import { deviceTokenFacts } from "../../../../test/plugins/device-token.ts";
import { ellipticPair, firstKeyPair } from "../../../../tools/programs/pairs.ts";
import { AUTHORITY, CERTIFICATE, CONSUMER, GROUP, ROUTE, SERVICE, UPSTREAM } from "./testing-example.ts";

registerPlugins([deviceTokenFacts]);

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,12}$/);
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value);
const words = (from: fc.Arbitrary<string>) => fc.uniqueArray(from, { minLength: 1, maxLength: 3 });
/** A host name that cannot be mistaken for an IP address. */
const host = fc.stringMatching(/^[a-z][a-z0-9]{0,9}(\.[a-z]{1,5})?$/);
const flag = fc.boolean();
const milliseconds = fc.integer({ min: 1, max: 2 ** 31 - 2 });
/** Names may contain non-ASCII characters, dots and capitals. */
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

/** Entities before defaults are filled in. */
export const arbitraries: { readonly [Name in Collection]: fc.Arbitrary<object> } = {
  certificates: fc
    .record({
      ...times,
      main: fc.constant(firstKeyPair),
      alternative: fc.constantFrom({}, { cert_alt: ellipticPair.cert, key_alt: ellipticPair.key }),
    })
    .map(({ main, alternative, ...members }) => ({ ...members, ...main, ...alternative })),
  ca_certificates: fc.record({ ...times, cert: fc.constantFrom(firstKeyPair.cert, ellipticPair.cert) }),
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
    slow_start_window: maybe(fc.integer({ min: 1, max: 60 })),
    outlier_detection: maybe(fc.record({ max_ejection_percent: fc.integer({ min: 0, max: 100 }) })),
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
      retry_budget: maybe(fc.record({ percent: fc.integer({ min: 0, max: 100 }) })),
      protocol: fc.constantFrom("http", "https"),
      client_certificate: certificateReference,
      ca_certificates: maybe(fc.constantFrom([], [AUTHORITY])),
      host: word,
      port: fc.integer({ min: 0, max: 65_535 }),
      path: maybe(word.map((path) => `/${path}`)),
      connect_timeout: milliseconds,
      read_timeout: milliseconds,
      write_timeout: milliseconds,
      enabled: flag,
      upstream_headers: maybe(
        fc.uniqueArray(fc.record({ name: fc.stringMatching(/^X-[a-z]{1,9}$/), value: word }), {
          minLength: 1,
          maxLength: 3,
          selector: ({ name }) => name,
        }),
      ),
    })
    .map((service) =>
      service.protocol === "https" ? service : { ...service, client_certificate: null, ca_certificates: null },
    ),
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
  plugins: fc
    .record({
      ...times,
      name: fc.constant("rate-limiting"),
      instance_name: maybe(name),
      service: maybe(fc.constant({ id: SERVICE })),
      route: maybe(fc.constant({ id: ROUTE })),
      owner: fc.constantFrom({}, { consumer: { id: CONSUMER } }, { consumer_group: { id: GROUP } }),
      config: fc.record({
        minute: fc.integer({ min: 1, max: 9 }),
        policy: fc.constantFrom("local", "redis"),
        redis: fc.record({ host: word, port: fc.integer({ min: 0, max: 9999 }), password: maybe(word), ssl: flag }),
        hide_client_headers: flag,
      }),
      protocols: fc.constantFrom(["http"], ["grpc", "grpcs", "http", "https"]),
      enabled: flag,
    })
    .map(({ owner, ...members }) => ({ ...members, ...owner })),
  consumers: fc
    .record({ ...times, username: maybe(name), custom_id: maybe(word) })
    .filter(({ username, custom_id }) => username !== null || custom_id !== null),
  keyauth_credentials: fc.record({
    ...common,
    consumer: fc.constant({ id: CONSUMER }),
    key: fc.string({ minLength: 1, maxLength: 40, unit: "grapheme-ascii" }),
    ttl: maybe(fc.integer({ min: 0, max: 1000 })),
  }),
  jwt_secrets: fc.record({
    ...common,
    consumer: fc.constant({ id: CONSUMER }),
    key: name,
    secret: word,
    algorithm: fc.constantFrom("HS256", "HS512"),
  }),
  basicauth_credentials: fc.record({
    ...common,
    consumer: fc.constant({ id: CONSUMER }),
    username: name,
    password: word,
  }),
  hmacauth_credentials: fc.record({ ...common, consumer: fc.constant({ id: CONSUMER }), username: name, secret: word }),
  mtls_auth_credentials: fc.record({ ...common, consumer: fc.constant({ id: CONSUMER }), subject_name: name }),
  acls: fc.record({ ...common, consumer: fc.constant({ id: CONSUMER }), group: name }),
  consumer_groups: fc.record({ ...times, name }),
  vaults: fc.record({
    ...times,
    prefix: fc.stringMatching(/^[a-z][a-z0-9-]{0,9}[0-9]$/),
    name: fc.constant("env"),
    description: maybe(name),
    config: fc.constantFrom(null, {}, { prefix: "APP_" }),
  }),
  graphql_documents: fc.record({
    ...times,
    name,
    manifest: word.map((field) => JSON.stringify({ [field]: `{ ${field} }` })),
  }),
  consumer_group_consumers: fc.record({
    ...common,
    consumer: fc.constant({ id: CONSUMER }),
    consumer_group: fc.constant({ id: GROUP }),
  }),
  plugin_credentials: fc.record({
    ...common,
    consumer: fc.constant({ id: CONSUMER }),
    plugin: fc.constant(deviceTokenFacts.name),
    key: fc.string({ minLength: 4, maxLength: 40, unit: "grapheme-ascii" }),
    config: fc.record({ model: fc.constantFrom("any", "x1"), pin: maybe(word) }),
  }),
};
