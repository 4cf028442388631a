/**
 * Random configs of the plugins whose answer depends only on the request and on what they have counted or cached.
 *
 * Left out are plugins that ask or inform another server (forward-auth, ldap-auth, openid-connect, request-mirror, the
 * plugins that send logs and traces), plugins that need TLS (mtls-auth) or a gRPC service (grpc-web), session, whose cookies
 * have random contents that explanations hide, and compression, which changes only responses of upstreams.
 */
import { createHmac } from "node:crypto";
import fc from "fast-check";
import { idOf } from "../compile/testing-entities.ts";

/** Null in one of `values` + 1 cases, which is the frequency `values` + 1 of fast-check. */
export const orNull = <Value>(value: fc.Arbitrary<Value>, values: number) =>
  fc.option(value, { nil: null, freq: values + 1 });

export const randomPlaces = [0, 1, 2] as const;
export const consumerName = (place: number) => `c${place}`;

/** The value of `anonymous` in the configs of authentication plugins. */
const anonymous = orNull(fc.constant(idOf(consumerName(2))), 2);

/** Credentials of a consumer. */
export const credentialsOf = (place: number) => ({
  keyauth_credentials: [{ key: `key-${place}` }],
  basicauth_credentials: [{ username: `user-${place}`, password: `password-${place}` }],
  jwt_secrets: [{ key: `issuer-${place}`, secret: secretOf(place), algorithm: "HS256" }],
  hmacauth_credentials: [{ username: `user-${place}`, secret: secretOf(place) }],
});

const secretOf = (place: number) => `secret-${place}`.padEnd(40, "s");

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

function tokenOf(place: number): string {
  const signed = `${base64url({ alg: "HS256", typ: "JWT" })}.${base64url({ iss: `issuer-${place}` })}`;
  return `${signed}.${createHmac("sha256", secretOf(place)).update(signed).digest("base64url")}`;
}

const DATE = "Thu, 01 Jan 2026 00:00:00 GMT";

function signatureOf(place: number): string {
  const signature = createHmac("sha256", secretOf(place)).update(`x-date: ${DATE}`).digest("base64");
  return `hmac username="user-${place}", algorithm="hmac-sha256", headers="x-date", signature="${signature}"`;
}

const basicOf = (place: number, password = `password-${place}`) =>
  `Basic ${Buffer.from(`user-${place}:${password}`).toString("base64")}`;

type Headers = readonly (readonly [name: string, value: string])[];

/** Headers with valid, invalid or no credentials. Keys are among the other headers and parameters of requests. */
export const credentialHeaders: fc.Arbitrary<Headers> = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom("basic", "jwt", "hmac"), fc.constantFrom(...randomPlaces))
      .map(([kind, place]): Headers => {
        if (kind === "basic") return [["Authorization", basicOf(place)]];
        if (kind === "jwt") return [["Authorization", `Bearer ${tokenOf(place)}`]];
        return [
          ["X-Date", DATE],
          ["Authorization", signatureOf(place)],
        ];
      }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Headers>(
      [["Authorization", basicOf(0, "wrong")]],
      [["Authorization", `Bearer ${tokenOf(0)}x`]],
      [["Authorization", signatureOf(0)]],
    ),
  },
);

type Config = fc.Arbitrary<object>;

const textLike = { type: "string", minLength: 3 };

/** By the name of a plugin: its configs, and whether it can be attached to consumers and groups. */
const plugins: Readonly<Record<string, readonly [config: Config, ofConsumers: boolean]>> = {
  "key-auth": [fc.record({ anonymous: anonymous, hide_credentials: fc.boolean(), key_in_body: fc.boolean() }), false],
  "basic-auth": [fc.record({ anonymous, hide_credentials: fc.boolean() }), false],
  jwt: [fc.record({ anonymous, run_on_preflight: fc.boolean() }), false],
  "hmac-auth": [
    fc.record({ anonymous, hide_credentials: fc.boolean(), clock_skew: fc.constantFrom(300, 1_000_000_000) }),
    false,
  ],
  "standard-webhooks": [fc.constant({ secret_v1: `whsec_${Buffer.from(secretOf(0)).toString("base64")}` }), false],
  acl: [fc.constantFrom({ allow: ["g0"] }, { deny: ["g1"] }, { allow: ["g0", "g1"], hide_groups_header: true }), false],
  "rate-limiting": [
    fc
      .record({
        minute: fc.integer({ min: 1, max: 3 }),
        limit_by: fc.constantFrom("consumer", "ip", "service"),
        algorithm: fc.constantFrom("window", "window", "bucket"),
      })
      .map(({ algorithm, ...config }) =>
        algorithm === "bucket" ? { ...config, algorithm, burst: { minute: 1 } } : config,
      ),
    true,
  ],
  "response-ratelimiting": [
    fc.record({
      limits: fc.constantFrom({ video: { minute: 2 } }, { video: { minute: 1 }, image: { hour: 5 } }),
      block_on_first_violation: fc.boolean(),
      hide_client_headers: fc.boolean(),
    }),
    true,
  ],
  "concurrency-limiting": [fc.constantFrom({ limit: 1 }, { limit: 5, limit_by: "ip" }), true],
  "request-termination": [
    fc.record({ status_code: fc.constantFrom(200, 418, 503), trigger: orNull(fc.constant("x-two"), 1) }),
    true,
  ],
  redirect: [
    fc.constantFrom(
      { location: "/elsewhere" },
      { location: "https://o.example/x", keep_incoming_path: true, status_code: 307 },
    ),
    true,
  ],
  "request-redirect": [
    fc.constantFrom(
      { scheme: "https" },
      { host: "o.example", strip_prefix: "/a", add_prefix: "/z" },
      { path: "/p", status_code: 308 },
    ),
    true,
  ],
  "ip-restriction": [fc.constantFrom({ allow: ["127.0.0.1"] }, { deny: ["127.0.0.1"], status: 451 }), true],
  cors: [fc.constantFrom({}, { origins: ["http://o.example"], credentials: true, preflight_continue: true }), false],
  "correlation-id": [
    fc.record({ echo_downstream: fc.boolean(), header_name: fc.constantFrom("X-Trace", "X-One") }),
    true,
  ],
  "request-transformer": [
    fc.constantFrom(
      { add: { headers: ["x-added:1", "x-one:added"], querystring: ["added:1"] } },
      { remove: { headers: ["x-one"], querystring: ["x"] }, append: { headers: ["x-two:more"] } },
      { replace: { uri: "/new/$(uri_captures.id)", headers: ["x-one:replaced"] } },
      { rename: { headers: ["x-two:x-three"] }, http_method: "PUT" },
      { add: { body: ["k:v"] } },
    ),
    true,
  ],
  "request-validator": [
    fc.constantFrom(
      { body_schema: JSON.stringify({ type: "object", required: ["k"] }), version: "draft7", verbose_response: true },
      {
        version: "draft7",
        parameter_schema: [
          {
            in: "header",
            name: "x-two",
            required: true,
            style: "simple",
            explode: false,
            schema: JSON.stringify(textLike),
          },
        ],
      },
    ),
    true,
  ],
  "request-size-limiting": [
    fc.record({
      allowed_payload_size: fc.constantFrom(0, 10),
      size_unit: fc.constant("bytes"),
      require_content_length: fc.boolean(),
    }),
    true,
  ],
  "bot-detection": [fc.constantFrom({}, { deny: ["curl"] }), false],
  graphql: [fc.constantFrom({}, { enforce: false }, { websocket: "forward" }), true],
  prometheus: [fc.constant({ status_code_metrics: true }), true],
  "proxy-cache": [
    fc.constantFrom(
      { strategy: "memory", content_type: ["application/json"], response_headers: { age: false } },
      {
        strategy: "memory",
        request_method: ["POST"],
        content_type: ["application/json"],
        response_headers: { age: false },
      },
    ),
    true,
  ],
};

const target = (of: readonly number[]) => orNull(fc.constantFrom(...of), 1);

/** Plugins with scopes, as names of entities of a document. */
export const attachedPlugins = (names: {
  readonly route: (place: number) => string;
  readonly service: (place: number) => string;
}) =>
  fc
    .uniqueArray(
      fc.constantFrom(...Object.entries(plugins)).chain(([name, [config, ofConsumers]]) =>
        fc.record({
          name: fc.constant(name),
          config,
          enabled: fc.integer({ min: 0, max: 7 }).map((roll) => roll > 0),
          route: target([0, 1]),
          service: target(randomPlaces),
          consumer: ofConsumers ? target(randomPlaces) : fc.constant(null),
          group: ofConsumers ? target([0, 1]) : fc.constant(null),
        }),
      ),
      {
        maxLength: 9,
        selector: ({ name, route, service, consumer, group }) =>
          `${name} ${route} ${service} ${consumer ?? `group ${group}`}`,
      },
    )
    .map((all) =>
      all.map(({ name, config, enabled, route, service, consumer, group }) => ({
        name,
        config,
        enabled,
        ...(route !== null && { route: { name: names.route(route) } }),
        ...(service !== null && { service: { name: names.service(service) } }),
        ...(consumer !== null && { consumer: { username: consumerName(consumer) } }),
        ...(consumer === null && group !== null && { consumer_group: { name: groupName(group) } }),
      })),
    );

export const groupName = (place: number) => `group-${place}`;
