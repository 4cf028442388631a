/** Random documents and requests. They have few distinct values, so that requests match routes and plugins often. */
import fc from "fast-check";
import { idOf } from "../compile/testing-entities.ts";

const orNull = <Value>(value: fc.Arbitrary<Value>, freq = 2) => fc.option(value, { nil: null, freq });
const some = (from: readonly string[], minLength = 1, maxLength = 2) =>
  fc.uniqueArray(fc.constantFrom(...from), { minLength, maxLength });
const mostly = fc.integer({ min: 0, max: 7 }).map((roll) => roll > 0);

const places = [0, 1, 2] as const;
const serviceName = (place: number) => `s${place}`;
const consumerName = (place: number) => `c${place}`;

const routeName = (place: number) => `r${place}`;

/** `up.example` is an upstream entity. */
const services = (port: number) =>
  fc.tuple(
    ...places.map((place) =>
      fc
        .record({
          path: orNull(fc.constantFrom("/", "/base", "/base/x/")),
          enabled: mostly,
          upstream_headers: orNull(fc.constant([{ name: "X-Gate", value: "open" }]), 3),
          isBalanced: fc.boolean(),
        })
        .map(({ isBalanced, ...members }) => ({
          ...members,
          name: serviceName(place),
          ...(isBalanced ? { host: "up.example", port: 80 } : { host: "127.0.0.1", port }),
        })),
    ),
  );

const upstreams = (port: number) =>
  fc
    .record({
      algorithm: fc.constantFrom("round-robin", "consistent-hashing", "least-connections"),
      targets: fc.subarray([`127.0.0.1:${port}`, `127.0.0.2:${port}`], { minLength: 0 }),
      host_header: orNull(fc.constant("named.example"), 3),
    })
    .map(({ targets, algorithm, ...members }) => [
      {
        ...members,
        name: "up.example",
        algorithm,
        ...(algorithm === "consistent-hashing" && { hash_on: "header", hash_on_header: "x-one" }),
        targets: targets.map((target) => ({ target })),
      },
    ]);

const routes = fc
  .array(
    fc.record({
      service: fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom(...places) },
        { weight: 1, arbitrary: fc.constant(null) },
      ),
      hosts: orNull(some(["a.com", "b.a.com", "*.a.com", "a.*", "a.com:8000", "*.a.com:8000"]), 1),
      paths: orNull(some(["/", "/a", "/a/b", "~/a/(?<id>[0-9]+)", "~/[ab]", "/c d"], 1, 3), 4),
      methods: orNull(some(["GET", "POST", "PURGE", "OPTIONS"], 1, 3), 1),
      headers: orNull(
        fc.dictionary(fc.constantFrom("x-one", "X-Two"), fc.constantFrom(["one"], ["one", "two"], ["~*^on"]), {
          minKeys: 1,
          maxKeys: 2,
        }),
        1,
      ),
      strip_path: fc.boolean(),
      preserve_host: fc.boolean(),
      path_handling: fc.constantFrom("v0", "v1"),
      regex_priority: fc.integer({ min: 0, max: 2 }),
      https_redirect_status_code: fc.constantFrom(426, 302),
      protocols: fc.constantFrom(["http"], ["http", "https"], ["https"], ["http", "https"]),
    }),
    { minLength: 2, maxLength: 6 },
  )
  .map((all) =>
    all.map(({ service, paths, ...members }, place) => ({
      ...members,
      id: idOf(routeName(place)),
      name: routeName(place),
      paths: (paths ?? members.hosts ?? members.methods ?? members.headers) === null ? ["/"] : paths,
      service: service === null ? null : { name: serviceName(service) },
    })),
  );

const consumers = places.map((place) => ({
  id: idOf(consumerName(place)),
  username: consumerName(place),
  keyauth_credentials: [{ key: `key-${place}` }],
  ...(place < 2 && { acls: [{ group: `g${place}` }] }),
}));

type Config = fc.Arbitrary<object>;

/** By the name of a plugin: its configs, and whether it can be attached to a consumer. */
const plugins: Readonly<Record<string, readonly [config: Config, ofConsumers: boolean]>> = {
  "key-auth": [
    fc.record({
      anonymous: orNull(fc.constant(idOf(consumerName(2))), 1),
      hide_credentials: fc.boolean(),
      key_in_body: fc.boolean(),
    }),
    false,
  ],
  acl: [fc.constantFrom({ allow: ["g0"] }, { deny: ["g1"] }, { allow: ["g0", "g1"], hide_groups_header: true }), false],
  "rate-limiting": [
    fc.record({ minute: fc.integer({ min: 1, max: 3 }), limit_by: fc.constantFrom("consumer", "ip", "service") }),
    true,
  ],
  "request-termination": [
    fc.record({ status_code: fc.constantFrom(200, 418, 503), trigger: orNull(fc.constant("x-two"), 1) }),
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
  "request-size-limiting": [
    fc.record({
      allowed_payload_size: fc.constantFrom(0, 10),
      size_unit: fc.constant("bytes"),
      require_content_length: fc.boolean(),
    }),
    true,
  ],
  "bot-detection": [fc.constantFrom({}, { deny: ["curl"] }), false],
};

const attachedPlugins = fc
  .uniqueArray(
    fc.constantFrom(...Object.entries(plugins)).chain(([name, [config, ofConsumers]]) =>
      fc.record({
        name: fc.constant(name),
        config,
        enabled: mostly,
        route: orNull(fc.constantFrom(0, 1), 1),
        service: orNull(fc.constantFrom(...places), 1),
        consumer: ofConsumers ? orNull(fc.constantFrom(...places), 1) : fc.constant(null),
      }),
    ),
    { maxLength: 9, selector: ({ name, route, service, consumer }) => `${name} ${route} ${service} ${consumer}` },
  )
  .map((all) =>
    all.map(({ name, config, enabled, route, service, consumer }) => ({
      name,
      config,
      enabled,
      ...(route !== null && { route: { name: routeName(route) } }),
      ...(service !== null && { service: { name: serviceName(service) } }),
      ...(consumer !== null && { consumer: { username: consumerName(consumer) } }),
    })),
  );

/** Each route has a plugin that adds a header with the route's name to all responses. */
export const ROUTE_HEADER = "x-route";

/** @param port Port of the upstream */
export const documents = (port: number) =>
  fc
    .record({ services: services(port), upstreams: upstreams(port), routes, plugins: attachedPlugins })
    .map((document) => ({
      ...document,
      consumers,
      plugins: [
        ...document.plugins,
        ...document.routes.map(({ name }) => ({
          name: "response-transformer",
          route: { name },
          config: { add: { headers: [`${ROUTE_HEADER}:${name}`] } },
        })),
      ],
    }));

const headerValues = {
  apikey: ["key-0", "key-1", "key-2", "wrong"],
  "X-One": ["one", "two", "once"],
  "x-two": ["one", "two"],
  Origin: ["http://o.example", "http://other.example"],
  "Access-Control-Request-Method": ["GET"],
  "User-Agent": ["curl/8.5.0", "Googlebot/2.1", "Mozilla/5.0"],
  "X-Consumer-Username": ["c0"],
  "X-Forwarded-For": ["10.9.9.9"],
  "X-Forwarded-Proto": ["https"],
  Via: ["1.1 other"],
  TE: ["trailers"],
  Cookie: ["a=1", "a=1; b=2"],
  Accept: ["text/html", "application/json"],
  "X-Trace": ["given"],
} as const;

/** A request without its version-specific parts. */
export interface RandomRequest {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  /** In the order in which they are sent, without Host and Content-Length. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly client_address: string;
  readonly http_version: "1.1" | "2";
  readonly body: string | null;
  /** Whether the body is sent in chunks, without Content-Length. HTTP/1.1 only. */
  readonly isChunked: boolean;
  /** How often the request is explained. */
  readonly explained: number;
}

const headers = fc
  .uniqueArray(
    fc
      .constantFrom(...(Object.keys(headerValues) as (keyof typeof headerValues)[]))
      .chain((name) => fc.tuple(fc.constant<string>(name), fc.constantFrom<string>(...headerValues[name]))),
    { maxLength: 5, selector: ([name]) => name },
  )
  .chain((all) =>
    fc
      .boolean()
      .map((isForm) => (isForm ? [...all, ["Content-Type", "application/x-www-form-urlencoded"] as const] : all)),
  );

export const randomRequests: fc.Arbitrary<RandomRequest> = fc
  .record({
    method: fc.constantFrom("GET", "GET", "POST", "HEAD", "OPTIONS", "PURGE", "PUT"),
    path: fc.constantFrom("/", "/a", "/a/b/c", "/a/12/x", "/b", "/a//b", "/a/../b", "/a%2Fb", "/%61", "/c%20d", "/zzz"),
    query: fc.constantFrom("", "", "?x=1", "?x=1&y=2&x=3", "?apikey=key-0", "?added=0", "?"),
    host: fc.constantFrom("a.com", "b.a.com", "A.com", "a.com:8000", "b.a.com:8000", "a.org", "other.example"),
    headers,
    client_address: fc.constantFrom("127.0.0.1", "127.0.0.1", "127.0.0.2"),
    http_version: fc.constantFrom("1.1", "1.1", "1.1", "2"),
    body: fc.constantFrom(null, "", "k=v", "apikey=key-1", "k=".padEnd(40, "v")),
    isChunked: fc.boolean(),
    explained: fc.integer({ min: 1, max: 2 }),
  })
  .map(({ path, query, body, method, isChunked, ...request }) => ({
    ...request,
    method,
    target: path + query,
    isChunked: isChunked && request.http_version === "1.1",
    // Node's client of HTTP/1.1 sends no other request without a body.
    body:
      method === "GET" || method === "HEAD" || method === "OPTIONS"
        ? null
        : (body ?? (request.http_version === "2" ? null : "")),
  }));
