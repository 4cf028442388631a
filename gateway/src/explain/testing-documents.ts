/** Random documents and requests. They have few distinct values, so that requests match routes and plugins often. */
import type { DocumentListener } from "@sluice/model";
import fc from "fast-check";
import { idOf } from "../compile/testing-entities.ts";
import {
  attachedPlugins,
  consumerName,
  credentialHeaders,
  credentialsOf,
  groupName,
  orNull,
  randomPlaces,
} from "./testing-plugins.ts";

/** A value in one of six cases, else null. */
const rarely = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
const some = (from: readonly string[], minLength = 1, maxLength = 2) =>
  fc.uniqueArray(fc.constantFrom(...from), { minLength, maxLength });
const mostly = fc.integer({ min: 0, max: 7 }).map((roll) => roll > 0);

const serviceName = (place: number) => `s${place}`;

const routeName = (place: number) => `r${place}`;

/** `up.example` is an upstream entity. */
const services = (port: number) =>
  fc.tuple(
    ...randomPlaces.map((place) =>
      fc
        .record({
          path: orNull(fc.constantFrom("/", "/base", "/base/x/"), 2),
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

/** Listeners of the document, by their ports. Each port has at least one. */
export const randomListeners = (ports: readonly number[]): fc.Arbitrary<readonly DocumentListener[]> =>
  fc
    .tuple(
      ...ports.map((port, place) =>
        fc
          .subarray([null, "a.com", "*.a.com"], { minLength: 1 })
          .map((hostnames) => hostnames.map((hostname) => listenerOf(hostname, { port, place }))),
      ),
    )
    .map((all) => all.flat());

const listenerOf = (
  hostname: string | null,
  { port, place }: { readonly port: number; readonly place: number },
): DocumentListener => ({
  name: listenerName(place, hostname),
  port,
  public_port: port,
  protocol: "http",
  ...(hostname !== null && { hostname }),
});

const listenerName = (place: number, hostname: string | null) => `n/g/${place}-${hostname ?? "all"}`;
const listenerNames = [
  listenerName(0, null),
  listenerName(0, "a.com"),
  listenerName(0, "*.a.com"),
  listenerName(1, null),
];

/**
 * Members of routes for the Gateway API. A share contains all requests or none, because explanation and proxy draw
 * random numbers of their own.
 */
const routeExtras = fc.record(
  {
    listeners: some(listenerNames, 1, 3),
    match: fc.record(
      {
        query: fc.constantFrom([{ name: "x", value: "1" }], [{ name: "y", value: "[0-9]", type: "regex" }]),
        headers: fc.constantFrom([{ name: "x-one", value: "one" }], [{ name: "X-Two", value: "t.*", type: "regex" }]),
        share: fc.constantFrom({ from: 0, to: 100 }, { from: 0, to: 100 }, { from: 0, to: 0 }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

const routes = fc
  .array(
    fc.record({
      service: fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom(...randomPlaces) },
        { weight: 1, arbitrary: fc.constant(null) },
      ),
      hosts: orNull(some(["a.com", "b.a.com", "*.a.com", "a.*", "a.com:8000", "*.a.com:8000"]), 1),
      paths: orNull(some(["/", "/a", "/a/b", "~/a/(?<id>[0-9]+)", "~/[ab]", "/c d"], 1, 3), 4),
      methods: rarely(some(["GET", "POST", "PURGE", "OPTIONS"], 1, 3)),
      headers: rarely(
        fc.dictionary(fc.constantFrom("x-one", "X-Two"), fc.constantFrom(["one"], ["one", "two"], ["~*^on"]), {
          minKeys: 1,
          maxKeys: 2,
        }),
      ),
      strip_path: fc.boolean(),
      preserve_host: fc.boolean(),
      path_handling: fc.constantFrom("v0", "v1"),
      regex_priority: fc.integer({ min: 0, max: 2 }),
      https_redirect_status_code: fc.constantFrom(426, 302),
      protocols: fc.constantFrom(["http"], ["http", "https"], ["https"], ["http", "https"]),
      extras: rarely(routeExtras),
    }),
    { minLength: 2, maxLength: 6 },
  )
  .map((all) =>
    all.map(({ service, paths, extras, ...members }, place) => ({
      ...members,
      ...(extras !== null && { _sluice: extras }),
      id: idOf(routeName(place)),
      name: routeName(place),
      paths: (paths ?? members.hosts ?? members.methods ?? members.headers) === null ? ["/"] : paths,
      service: service === null ? null : { name: serviceName(service) },
    })),
  );

const consumers = randomPlaces.map((place) => ({
  id: idOf(consumerName(place)),
  username: consumerName(place),
  ...credentialsOf(place),
  ...(place < 2 && { acls: [{ group: `g${place}` }] }),
  ...(place > 0 && { groups: [{ name: groupName(place - 1) }] }),
}));

/** Each route has a plugin that adds a header with the route's name to all responses. */
export const ROUTE_HEADER = "x-route";

/** @param upstreamPort Port of the upstream */
export const explainedDocuments = (upstreamPort: number) =>
  fc
    .record({
      services: services(upstreamPort),
      upstreams: upstreams(upstreamPort),
      routes,
      plugins: attachedPlugins({ route: routeName, service: serviceName }),
    })
    .map((document) => ({
      ...document,
      consumer_groups: [{ name: groupName(0) }, { name: groupName(1) }],
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
  /** The index of the document's listener port to which the request goes; null: the proxy's own port. */
  readonly listener: number | null;
  readonly http_version: "1.1" | "2";
  readonly body: string | null;
  /** Whether the body is sent in chunks, without Content-Length. HTTP/1.1 only. */
  readonly isChunked: boolean;
  /** How often the request is explained. */
  readonly explained: number;
}

const contentTypes = ["application/x-www-form-urlencoded", "application/json"];

const headers = fc
  .uniqueArray(
    fc
      .constantFrom(...(Object.keys(headerValues) as (keyof typeof headerValues)[]))
      .chain((name) => fc.tuple(fc.constant<string>(name), fc.constantFrom<string>(...headerValues[name]))),
    { maxLength: 5, selector: ([name]) => name },
  )
  .chain((all) =>
    fc
      .tuple(credentialHeaders, fc.constantFrom(null, ...contentTypes))
      .map(([credentials, type]) => [
        ...all,
        ...credentials,
        ...(type === null ? [] : [["Content-Type", type] as const]),
      ]),
  );

export const randomRequests: fc.Arbitrary<RandomRequest> = fc
  .record({
    method: fc.constantFrom("GET", "GET", "POST", "HEAD", "OPTIONS", "PURGE", "PUT"),
    path: fc.constantFrom("/", "/a", "/a/b/c", "/a/12/x", "/b", "/a//b", "/a/../b", "/a%2Fb", "/%61", "/c%20d", "/zzz"),
    query: fc.constantFrom("", "", "?x=1", "?x=1&y=2&x=3", "?apikey=key-0", "?added=0", "?"),
    host: fc.constantFrom("a.com", "b.a.com", "A.com", "a.com:8000", "b.a.com:8000", "a.org", "other.example"),
    headers,
    client_address: fc.constantFrom("127.0.0.1", "127.0.0.1", "127.0.0.2"),
    listener: fc.constantFrom(null, null, null, null, 0, 1),
    http_version: fc.constantFrom("1.1", "1.1", "1.1", "2"),
    body: fc.constantFrom(null, "", "k=v", '{"k":1}', "{}", "apikey=key-1", "k=".padEnd(40, "v")),
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
